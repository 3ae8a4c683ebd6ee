package main

import (
	"time"
)

// saas builds a subscription business: CamelCase, singular tables, timestamps.
func saas() []file {
	r := &rng{state: 23}
	plan := saasPlans()
	account := saasAccounts(r)
	subscription := saasSubscriptions(r)
	agent := saasAgents(r)
	ticket := saasTickets(r)
	return []file{{"saas.sql", script("A subscription software business: accounts, plans, subscriptions and support.",
		plan, account, subscription, agent, ticket)}}
}

func saasPlans() *table {
	t := &table{name: "Plan", ddl: `CREATE TABLE Plan (
  PlanId INTEGER PRIMARY KEY,
  PlanName TEXT NOT NULL,
  Tier TEXT NOT NULL,
  MonthlyPrice REAL NOT NULL,
  MaxSeats INTEGER
)`}
	t.add(1, "Starter", "Basic", 19.0, 5)
	t.add(2, "Team", "Basic", 49.0, 25)
	t.add(3, "Growth", "Professional", 99.0, 100)
	t.add(4, "Business", "Professional", 199.0, 250)
	t.add(5, "Enterprise", "Premium", 499.0, nil)
	t.add(6, "Education", "Basic", 9.0, 50)
	return t
}

func saasAccounts(r *rng) *table {
	t := &table{name: "Account", ddl: `CREATE TABLE Account (
  AccountId INTEGER PRIMARY KEY,
  CompanyName TEXT NOT NULL,
  Industry TEXT NOT NULL,
  Country TEXT NOT NULL,
  SignupDate TEXT NOT NULL,
  EmployeeCount INTEGER
)`}
	heads := []string{
		"Blue", "North", "Silver", "Red", "Quick", "Open", "Bright", "Iron", "Green", "Lunar", "Prime", "Urban",
	}
	tails := []string{"Harbor", "Ridge", "Labs", "Works", "Fields", "Systems", "Partners", "Foods", "Media", "Motors"}
	industries := []string{"Retail", "Healthcare", "Finance", "Education", "Manufacturing", "Media", "Logistics"}
	countries := []string{"Germany", "Portugal", "United States", "France", "Brazil", "Netherlands", "Japan"}
	for i := range 120 {
		var staff any = r.between(4, 900)
		if r.chance(0.08) {
			staff = nil
		}
		t.add(i+1, heads[i%12]+" "+tails[(i/12+i)%10], industries[r.weighted(24, 18, 15, 12, 21, 7, 4)],
			countries[r.weighted(24, 12, 30, 16, 10, 6, 3)], iso(r.dayIn(day(2020, 2, 3), day(2024, 10, 28))), staff)
	}
	return t
}

func saasSubscriptions(r *rng) *table {
	t := &table{name: "Subscription", ddl: `CREATE TABLE Subscription (
  SubscriptionId INTEGER PRIMARY KEY,
  AccountId INTEGER NOT NULL REFERENCES Account(AccountId),
  PlanId INTEGER NOT NULL REFERENCES Plan(PlanId),
  StartDate TEXT NOT NULL,
  EndDate TEXT,
  Seats INTEGER NOT NULL,
  Status TEXT NOT NULL
)`}
	for i := range 200 {
		account := i + 1
		if i >= 120 {
			account = 1 + r.below(120)
		}
		start := r.dayIn(day(2021, 1, 4), day(2024, 11, 25))
		var end any
		status := []string{"active", "cancelled", "trial"}[r.weighted(62, 27, 11)]
		if status == "cancelled" {
			end = iso(earlier(start.AddDate(0, 0, r.between(20, 600)), day(2024, 12, 15)))
		}
		plan := 1 + r.weighted(30, 46, 40, 24, 13, 9)
		t.add(i+1, account, plan, iso(start), end, r.between(1, []int{5, 25, 80, 150, 400, 50}[plan-1]), status)
	}
	return t
}

func saasAgents(r *rng) *table {
	t := &table{name: "Agent", ddl: `CREATE TABLE Agent (
  AgentId INTEGER PRIMARY KEY,
  AgentName TEXT NOT NULL,
  Team TEXT NOT NULL,
  Office TEXT NOT NULL,
  HireDate TEXT NOT NULL
)`}
	first := []string{"Mira", "Tom", "Aiko", "Pedro", "Lena", "Omar", "Julia", "Kofi", "Sara", "Ivan"}
	last := []string{"Hansen", "Silva", "Tanaka", "Weber", "Costa", "Novak", "Moreau"}
	for i := range 30 {
		t.add(i+1, first[i%10]+" "+last[(i/10+i)%7],
			[]string{"Frontline", "Escalations", "Onboarding"}[r.weighted(5, 3, 2)],
			pick(r, []string{"Lisbon", "Berlin", "Austin"}), iso(r.dayIn(day(2018, 3, 1), day(2023, 11, 30))))
	}
	return t
}

func saasTickets(r *rng) *table {
	t := &table{name: "Ticket", ddl: `CREATE TABLE Ticket (
  TicketId INTEGER PRIMARY KEY,
  AccountId INTEGER NOT NULL REFERENCES Account(AccountId),
  AgentId INTEGER REFERENCES Agent(AgentId),
  OpenedAt TEXT NOT NULL,
  ClosedAt TEXT,
  Priority TEXT NOT NULL,
  Category TEXT NOT NULL,
  SatisfactionScore INTEGER
)`}
	const stamp = "2006-01-02 15:04:05"
	for i := range 560 {
		opened := day(2022, 6, 1).AddDate(0, 0, i*910/560).Add(time.Duration(r.between(7*60, 21*60)) * time.Minute)
		var agent, closed, score any
		if r.chance(0.93) {
			agent = 1 + r.skewed(30, 1.5)
			if r.chance(0.86) {
				closed = opened.Add(time.Duration(r.between(30, 9*24*60)) * time.Minute).Format(stamp)
				if r.chance(0.7) {
					score = 1 + r.weighted(5, 8, 20, 38, 29)
				}
			}
		}
		t.add(i+1, 1+r.skewed(104, 1.6), agent, opened.Format(stamp), closed,
			[]string{"low", "medium", "high", "urgent"}[r.weighted(30, 42, 20, 8)],
			[]string{"billing", "technical", "account access", "feature request"}[r.weighted(27, 44, 18, 11)], score)
	}
	return t
}
