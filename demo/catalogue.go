package demo

type entry struct {
	name   string
	cents  int
	weight int
}

// catalogue lists the products of the shop, with their sales weights.
var catalogue = [...]struct {
	code, name string
	weight     int
	costShare  int // percent of the price
	products   []entry
}{
	{"COF", "Coffee & Tea", 16, 48, []entry{
		{"House Espresso, 1 kg", 2290, 9}, {"Ethiopia Yirgacheffe, 500 g", 1690, 6}, {"Decaf Blend, 500 g", 1490, 3},
		{"Cold Brew Bags, 12 pieces", 1190, 4}, {"Earl Grey, 100 g", 790, 4}, {"Sencha, 100 g", 990, 3},
		{"Hand Grinder", 8900, 2}, {"Pour-over Set", 4450, 3},
	}},
	{"KIT", "Kitchen", 11, 55, []entry{
		{"Cast Iron Pan, 28 cm", 6490, 5}, {"Chef's Knife, 20 cm", 8990, 4}, {"Oak Cutting Board", 3990, 5},
		{
			"Stoneware Mug", 1450, 9,
		}, {"Salad Bowl", 2990, 3}, {"Stand Mixer", 34900, 1}, {"Linen Tea Towels, set of 3", 1990, 6},
	}},
	{"OFF", "Home Office", 9, 62, []entry{
		{
			"Standing Desk", 54900, 1,
		}, {"Ergonomic Chair", 38900, 1}, {"Monitor Arm", 11900, 3}, {"Desk Mat, wool felt", 3490, 6},
		{"Laptop Stand", 4990, 5}, {"Cable Tidy Box", 2490, 5}, {"Footrest", 5990, 2},
	}},
	{"OUT", "Outdoor", 10, 57, []entry{
		{"Day Pack, 22 l", 8490, 4}, {"Insulated Bottle, 750 ml", 3290, 9}, {"Camping Hammock", 5990, 3},
		{"Picnic Blanket", 4290, 5}, {"Head Torch", 3990, 4}, {"Two-person Tent", 21900, 1}, {"Enamel Cup", 1290, 7},
	}},
	{"STA", "Stationery", 12, 38, []entry{
		{
			"Dotted Notebook A5", 1490, 10,
		}, {"Fountain Pen", 3950, 4}, {"Weekly Planner", 2190, 4}, {"Gel Pens, set of 5", 1150, 8},
		{"Sticky Notes, 6 blocks", 690, 7}, {"Leather Pencil Case", 2990, 3},
	}},
	{"LIG", "Lighting", 7, 52, []entry{
		{
			"Desk Lamp, dimmable", 7990, 5,
		}, {"Clip Light", 2990, 5}, {"Paper Pendant Shade", 4490, 3}, {"Floor Lamp", 15900, 2},
		{"LED Bulbs E27, 4 pieces", 1990, 8}, {"String Lights, 10 m", 2490, 6},
	}},
}

// places lists where customers live, with names that are common there.
var places = [...]struct {
	country string
	weight  int
	cities  [3]string
	first   []string
	last    []string
}{
	{"Germany", 30, [3]string{"Berlin", "Hamburg", "Leipzig"},
		[]string{
			"Anna", "Jonas", "Mia", "Felix", "Lena", "Jürgen", "Katrin", "Emre", "Sophie", "Tobias", "Ayşe", "Paul",
		},
		[]string{"Müller", "Schmidt", "Weber", "Wagner", "Becker", "Hoffmann", "Koch", "Yılmaz", "Krüger", "Vogel"}},
	{"France", 18, [3]string{"Paris", "Lyon", "Nantes"},
		[]string{"Camille", "Hugo", "Chloé", "Louis", "Inès", "Mathieu", "Élodie", "Karim", "Manon", "Théo"},
		[]string{"Martin", "Bernard", "Dubois", "Moreau", "Lefèvre", "Girard", "Benali", "Fontaine", "Roux"}},
	{"Netherlands", 14, [3]string{"Amsterdam", "Utrecht", "Rotterdam"},
		[]string{"Sanne", "Daan", "Emma", "Bram", "Zoë", "Lars", "Fleur", "Thijs", "Noor"},
		[]string{"de Vries", "Jansen", "Bakker", "Visser", "Smit", "van Dijk", "Mulder", "Bos"}},
	{"United Kingdom", 14, [3]string{"London", "Manchester", "Edinburgh"},
		[]string{"Olivia", "George", "Amelia", "Harry", "Priya", "Callum", "Grace", "Oscar", "Zara"},
		[]string{"Smith", "Jones", "Taylor", "Patel", "Brown", "O'Connor", "Wright", "Khan", "Hughes"}},
	{"Spain", 10, [3]string{"Madrid", "Barcelona", "Valencia"},
		[]string{"Lucía", "Mateo", "Carmen", "Hugo", "Sofía", "Diego", "Elena", "Javier"},
		[]string{"García", "Martínez", "López", "Sánchez", "Núñez", "Romero", "Torres", "Navarro"}},
	{"Sweden", 8, [3]string{"Stockholm", "Gothenburg", "Malmö"},
		[]string{"Elsa", "Oskar", "Maja", "Åsa", "Nils", "Freja", "Erik", "Linnéa"},
		[]string{"Andersson", "Johansson", "Lindberg", "Nyström", "Eklund", "Holm", "Sjöberg"}},
	{"Austria", 6, [3]string{"Vienna", "Graz", "Linz"},
		[]string{"Lukas", "Marie", "Stefan", "Valentina", "Florian", "Theresa"},
		[]string{"Gruber", "Huber", "Bauer", "Pichler", "Steiner", "Moser", "Egger"}},
}
