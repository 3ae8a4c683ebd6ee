package main

import (
	"fmt"
	"math"
)

// freight builds a logistics company: abbreviated tables and columns.
func freight() []file {
	r := &rng{state: 37}
	carr := freightCarriers()
	whse := freightWarehouses()
	cust := freightCustomers(r)
	prod, prices := freightProducts(r)
	shpmt, line := freightShipments(r, prices)
	return []file{{"freight.sql",
		script("A logistics company: shipments of goods to customers, with short column names.",
			carr, whse, cust, prod, shpmt, line)}}
}

func freightCarriers() *table {
	t := &table{name: "carrier", ddl: `CREATE TABLE carrier (
  carr_id INTEGER PRIMARY KEY,
  carr_nm TEXT NOT NULL,
  transport_mode TEXT NOT NULL,
  ctry TEXT NOT NULL
)`}
	names := []string{
		"Rapid Wheels", "Blue Anchor", "Sky Haul", "Coastline", "Iron Road", "Northbound", "Harbor Lines",
		"Cloud Cargo", "Twin Axle",
	}
	modes := []string{"road", "sea", "air", "sea", "rail", "road", "sea", "air", "road"}
	countries := []string{"Spain", "Greece", "Germany", "Portugal", "Poland", "Sweden", "Greece", "France", "Spain"}
	for i, n := range names {
		t.add(i+1, n, modes[i], countries[i])
	}
	return t
}

func freightWarehouses() *table {
	t := &table{name: "whse", ddl: `CREATE TABLE whse (
  whse_id INTEGER PRIMARY KEY,
  whse_nm TEXT NOT NULL,
  city TEXT NOT NULL,
  capacity_m3 INTEGER NOT NULL
)`}
	cities := []string{"Rotterdam", "Valencia", "Gdansk", "Lyon", "Sines"}
	for i, n := range []string{"Delta Hub", "Sunside", "Amber Yard", "Central Dock", "Atlantic Gate"} {
		t.add(i+1, n, cities[i], 4000+i*1750)
	}
	return t
}

func freightCustomers(r *rng) *table {
	t := &table{name: "cust", ddl: `CREATE TABLE cust (
  cust_id INTEGER PRIMARY KEY,
  cust_nm TEXT NOT NULL,
  seg TEXT NOT NULL,
  region TEXT NOT NULL,
  since_dt TEXT NOT NULL
)`}
	heads := []string{"Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel", "Ivy", "Juniper"}
	tails := []string{"Trading", "Stores", "Supply", "Group", "Imports", "Mart"}
	for i := range 60 {
		t.add(i+1, heads[i%10]+" "+tails[(i/10+i)%6],
			[]string{"retail", "wholesale", "industrial", "public"}[r.weighted(24, 18, 12, 6)],
			[]string{"North", "South", "East", "West"}[r.weighted(16, 20, 9, 13)],
			iso(r.dayIn(day(2015, 1, 1), day(2022, 6, 30))))
	}
	return t
}

func freightProducts(r *rng) (*table, []float64) {
	t := &table{name: "prod", ddl: `CREATE TABLE prod (
  prod_id INTEGER PRIMARY KEY,
  prod_nm TEXT NOT NULL,
  cat TEXT NOT NULL,
  unit_wt_kg REAL NOT NULL
)`}
	goods := map[string][]string{
		"Furniture": {
			"Oak Desk", "Office Chair", "Bookcase", "Filing Cabinet", "Side Table", "Wall Shelf", "Stool", "Coat Rack",
		},
		"Electronics": {
			"Monitor", "Laser Printer", "Router", "Headset", "Label Maker", "Projector", "Keyboard", "Power Strip",
		},
		"Textiles": {"Work Gloves", "Safety Vest", "Blanket", "Canvas Roll", "Curtain", "Apron"},
		"Tools": {
			"Cordless Drill", "Hand Truck", "Ladder", "Tool Chest", "Bench Vise", "Torque Wrench", "Air Compressor",
		},
		"Packaging": {"Pallet Wrap", "Carton Box", "Bubble Roll", "Strap Kit", "Foam Sheet"},
	}
	var prices []float64
	for _, cat := range []string{"Furniture", "Electronics", "Textiles", "Tools", "Packaging"} {
		top := map[string]float64{
			"Furniture": 380, "Electronics": 450, "Textiles": 60, "Tools": 240, "Packaging": 25,
		}[cat]
		for _, name := range goods[cat] {
			prices = append(prices, r.money(top*0.1, top))
			t.add(len(prices), name, cat, r.money(0.3, top/9))
		}
	}
	return t, prices
}

func freightShipments(r *rng, prices []float64) (shpmt, line *table) {
	shpmt = &table{name: "shpmt", ddl: `CREATE TABLE shpmt (
  shpmt_id INTEGER PRIMARY KEY,
  cust_id INTEGER NOT NULL REFERENCES cust(cust_id),
  whse_id INTEGER NOT NULL REFERENCES whse(whse_id),
  carr_id INTEGER NOT NULL REFERENCES carrier(carr_id),
  ship_dt TEXT NOT NULL,
  dlv_dt TEXT,
  stat TEXT NOT NULL,
  frt_cost REAL NOT NULL
)`}
	line = &table{name: "shpmt_ln", ddl: `CREATE TABLE shpmt_ln (
  ln_id INTEGER PRIMARY KEY,
  shpmt_id INTEGER NOT NULL REFERENCES shpmt(shpmt_id),
  prod_id INTEGER NOT NULL REFERENCES prod(prod_id),
  qty INTEGER NOT NULL,
  unit_price REAL NOT NULL
)`}
	for i := range 320 {
		ship := day(2022, 2, 1).AddDate(0, 0, i*1040/320+r.below(3))
		stat := []string{"delivered", "returned"}[r.weighted(92, 8)]
		var dlv any = iso(ship.AddDate(0, 0, r.between(1, 21)))
		if i >= 285 && r.chance(0.6) {
			stat, dlv = []string{"in transit", "delayed"}[r.weighted(6, 4)], nil
		}
		shpmt.add(i+1, 1+r.skewed(56, 1.4), 1+r.weighted(30, 22, 17, 13, 9),
			1+r.weighted(60, 52, 18, 40, 34, 47, 25, 11, 0),
			iso(ship), dlv, stat, r.money(40, 1900))
		for range 1 + r.weighted(4, 4, 2) {
			p := r.skewed(len(prices), 1.15)
			price := math.Round(prices[p]*(0.9+0.2*r.unit())*100) / 100
			line.add(len(line.rows)+1, i+1, p+1, r.between(1, 40), price)
		}
	}
	if len(line.rows) > 600 {
		panic(fmt.Sprintf("%d shipment lines, more than wanted", len(line.rows)))
	}
	return shpmt, line
}
