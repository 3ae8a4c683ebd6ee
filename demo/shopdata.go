package demo

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// rng is a seeded generator. It uses only PCG's own output: the methods that package rand derives from it may change
// between Go releases, and the shop must not. For the same reason all arithmetic is on integers; money is in cents.
type rng struct{ pcg *rand.PCG }

// intn returns a number from 0 to n-1.
func (r rng) intn(n int) int {
	hi, _ := bits.Mul64(r.pcg.Uint64(), uint64(n))
	return int(hi)
}

// pick returns a random index, with a probability proportional to its weight.
func (r rng) pick(weights []int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	n := r.intn(total)
	for i, w := range weights {
		if n < w {
			return i
		}
		n -= w
	}
	return len(weights) - 1
}

const (
	consumer      = "consumer"
	smallBusiness = "small business"
	enterprise    = "enterprise"
)

type customer struct {
	name, email, city, country, segment string
	signedUp                            time.Time
	weight                              int       // relative purchase frequency
	until                               time.Time // end of its purchases; zero: none
}

type product struct {
	sku, name, category string
	cents, cost         int
	weight              int
}

type order struct {
	customer        int // index
	at              time.Time
	status, channel string
	cents           int
}

type item struct {
	order, product, quantity, cents int // order and product are indexes
}

type shop struct {
	rng
	catalogue
	customers []customer
	products  []product
	orders    []order
	items     []item
}

// The shop opened in the first month and its data ends with the last one. Orders by month: a slow start, a summer
// dip, a Christmas peak, growth.
var (
	firstMonth    = time.Date(2025, time.May, 1, 0, 0, 0, 0, time.UTC)
	ordersInMonth = [...]int{28, 31, 26, 24, 36, 41, 72, 85, 38, 35, 44, 49, 54, 57, 47, 45, 63, 71}
	coffeeRise    = time.Date(2026, time.February, 1, 0, 0, 0, 0, time.UTC)
	saleFrom      = time.Date(2025, time.November, 24, 0, 0, 0, 0, time.UTC)
	saleTo        = time.Date(2025, time.December, 2, 0, 0, 0, 0, time.UTC)
)

const customerCount = 140

func newShop() *shop {
	s := &shop{rng: rng{rand.NewPCG(0x5f00710e, 0x5409)}, catalogue: readCatalogue()}
	s.addProducts()
	s.addCustomers()
	s.addOrders()
	return s
}

func (s *shop) addProducts() {
	for _, cat := range s.Categories {
		for i, p := range cat.Products {
			s.products = append(s.products, product{
				sku:      fmt.Sprintf("%s-%03d", cat.Code, 101+7*i),
				name:     p.Name,
				category: cat.Name,
				cents:    p.Cents,
				cost:     p.Cents*(cat.Cost-3+s.intn(7))/100 + 1,
				weight:   p.Weight * cat.Weight,
			})
		}
	}
}

func (s *shop) addCustomers() {
	weights := make([]int, len(s.Places))
	for i, p := range s.Places {
		weights[i] = p.Weight
	}
	taken := map[string]bool{}
	for i := range customerCount {
		p := s.Places[s.pick(weights)]
		var name, email string
		for { // no two customers share a name
			first, last := p.First[s.intn(len(p.First))], p.Last[s.intn(len(p.Last))]
			name = first + " " + last
			email = address(first, last)
			if !taken[email] {
				break
			}
		}
		taken[email] = true
		c := customer{name: name, email: email, country: p.Country, city: p.Cities[s.pick([]int{5, 3, 2})]}
		c.segment = []string{consumer, smallBusiness, enterprise}[s.pick([]int{72, 21, 7})]
		// A third signed up before the first order; the others followed month by month.
		if i < customerCount/3 {
			c.signedUp = firstMonth.AddDate(0, 0, -1-s.intn(20))
		} else {
			c.signedUp = firstMonth.AddDate(0, 0, s.intn(520))
		}
		// A few buy often, many rarely, some never.
		c.weight = []int{0, 1, 2, 4, 7}[s.pick([]int{9, 38, 30, 17, 6})]
		if s.intn(100) < 12 {
			c.until = c.signedUp.AddDate(0, 4+s.intn(6), 0)
		}
		s.customers = append(s.customers, c)
	}
	slices.SortStableFunc(s.customers, func(a, b customer) int { return a.signedUp.Compare(b.signedUp) })
}

func (s *shop) addOrders() {
	for m, n := range ordersInMonth {
		month := firstMonth.AddDate(0, m, 0)
		for _, at := range s.times(month, n) {
			s.addOrder(at)
		}
	}
}

// times returns n ordered times within a month: fewer on Sundays, few at night, more towards the end of
// November.
func (s *shop) times(month time.Time, n int) []time.Time {
	days := month.AddDate(0, 1, -1).Day()
	weights := make([]int, days)
	for d := range weights {
		day := month.AddDate(0, 0, d)
		weights[d] = []int{6, 12, 11, 11, 10, 10, 8}[day.Weekday()]
		if !day.Before(saleFrom) && day.Before(saleTo) {
			weights[d] *= 3
		}
		if day.Month() == time.December && d > 21 {
			weights[d] = 2
		}
	}
	counts := make([]int, days)
	for range n {
		counts[s.pick(weights)]++
	}
	var at []time.Time
	for d, count := range counts {
		var seconds []int
		for range count {
			hour := s.pick([]int{1, 0, 0, 0, 0, 1, 2, 4, 7, 9, 10, 9, 11, 9, 8, 8, 9, 10, 11, 13, 14, 11, 6, 3})
			seconds = append(seconds, hour*3600+s.intn(3600))
		}
		slices.Sort(seconds)
		for _, sec := range seconds {
			at = append(at, month.AddDate(0, 0, d).Add(time.Duration(sec)*time.Second))
		}
	}
	return at
}

func (s *shop) addOrder(at time.Time) {
	weights := make([]int, len(s.customers))
	for i, c := range s.customers {
		if c.signedUp.Before(at) && (c.until.IsZero() || at.Before(c.until)) {
			weights[i] = c.weight
		}
	}
	o := order{customer: s.pick(weights), at: at}
	segment := s.customers[o.customer].segment
	o.channel = []string{"web", "mobile", "phone"}[s.pick(channelWeights(segment, at))]
	o.status = s.status(at)
	lines := 1 + s.pick([]int{22, 30, 24, 14, 7, 3})
	if segment == enterprise {
		lines++
	}
	used := map[int]bool{}
	for len(used) < lines {
		p := s.pick(s.productWeights(at))
		if used[p] {
			continue
		}
		used[p] = true
		it := item{
			order: len(s.orders), product: p, quantity: s.quantity(segment, s.products[p].cents),
			cents: s.priceAt(p, at),
		}
		s.items = append(s.items, it)
		o.cents += it.quantity * it.cents
	}
	s.orders = append(s.orders, o)
}

// channelWeights returns the weights of sales channels: phones gain share over time, and large customers prefer
// calls.
func channelWeights(segment string, at time.Time) []int {
	months := (at.Year()-firstMonth.Year())*12 + int(at.Month()-firstMonth.Month())
	switch segment {
	case enterprise:
		return []int{55, 5, 40}
	case smallBusiness:
		return []int{70, 15 + months, 15}
	default:
		return []int{60, 25 + 2*months, 4}
	}
}

func (s *shop) status(at time.Time) string {
	end := firstMonth.AddDate(0, len(ordersInMonth), 0)
	switch age := end.Sub(at); {
	case age < 3*24*time.Hour:
		return []string{"processing", "cancelled"}[s.pick([]int{19, 1})]
	case age < 9*24*time.Hour:
		return []string{"shipped", "processing", "cancelled"}[s.pick([]int{16, 3, 1})]
	default:
		return []string{"delivered", "returned", "cancelled"}[s.pick([]int{89, 6, 5})]
	}
}

// productWeights returns the weights of products: some categories are seasonal.
func (s *shop) productWeights(at time.Time) []int {
	weights := make([]int, len(s.products))
	for i, p := range s.products {
		weights[i] = p.weight * season(p.category, at.Month())
	}
	return weights
}

// season returns the sales of a category in a month, relative to 10 for an average month.
func season(category string, m time.Month) int {
	switch category {
	case "Outdoor":
		return [...]int{4, 5, 9, 14, 18, 20, 19, 15, 9, 6, 5, 6}[m-1]
	case "Lighting":
		return [...]int{13, 11, 9, 7, 6, 5, 5, 6, 10, 14, 17, 16}[m-1]
	case "Kitchen":
		return [...]int{8, 8, 9, 10, 10, 9, 9, 9, 10, 10, 15, 18}[m-1]
	case "Stationery":
		return [...]int{12, 9, 9, 9, 8, 8, 9, 16, 16, 10, 10, 11}[m-1]
	default:
		return 10
	}
}

// quantity returns the number of items: businesses buy several, except of expensive products.
func (s *shop) quantity(segment string, cents int) int {
	n := 1 + s.pick([]int{70, 20, 7, 3})
	if cents > 15000 {
		n = 1
	}
	switch segment {
	case smallBusiness:
		return n + s.intn(3)
	case enterprise:
		return 2*n + s.intn(6)
	default:
		return n
	}
}

// priceAt returns the price of a product at a time: coffee was cheaper before its price increase, and everything was
// cheaper in the sale.
func (s *shop) priceAt(p int, at time.Time) int {
	cents := s.products[p].cents
	if s.products[p].category == "Coffee & Tea" && at.Before(coffeeRise) {
		cents = cents * 92 / 100
	}
	if !at.Before(saleFrom) && at.Before(saleTo) {
		cents = cents * 85 / 100
	}
	return cents
}

// euros returns the float closest to an amount. A single division is exact to the last bit on every machine.
func euros(cents int) float64 { return float64(cents) / 100 }

func (s *shop) customerRows() [][]any {
	rows := make([][]any, len(s.customers))
	for i, c := range s.customers {
		rows[i] = []any{i + 1, c.name, c.email, c.city, c.country, c.segment, c.signedUp.Format(time.DateOnly)}
	}
	return rows
}

func (s *shop) productRows() [][]any {
	rows := make([][]any, len(s.products))
	for i, p := range s.products {
		rows[i] = []any{i + 1, p.sku, p.name, p.category, euros(p.cents), euros(p.cost)}
	}
	return rows
}

func (s *shop) orderRows() [][]any {
	rows := make([][]any, len(s.orders))
	for i, o := range s.orders {
		rows[i] = []any{firstOrder + i, o.customer + 1, o.at.Format(time.DateTime), o.status, o.channel, euros(o.cents)}
	}
	return rows
}

func (s *shop) itemRows() [][]any {
	rows := make([][]any, len(s.items))
	for i, it := range s.items {
		rows[i] = []any{i + 1, firstOrder + it.order, it.product + 1, it.quantity, euros(it.cents)}
	}
	return rows
}

const firstOrder = 1001 // no real shop starts its order numbers at 1

// address returns an e-mail address in a reserved domain.
func address(first, last string) string {
	domain := [...]string{"example.com", "example.org", "example.net"}[(len(first)+len(last))%3]
	return plain.Replace(strings.ToLower(first+"."+last)) + "@" + domain
}

var plain = strings.NewReplacer("ş", "s", "ı", "i", "ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "é", "e", "ú", "u", "è",
	"e", "ë", "e", "ç", "c",
	"å", "a", "á", "a", "í", "i", "ó", "o", "ñ", "n", "ø", "o", "ï", "i", " ", "", "'", "")
