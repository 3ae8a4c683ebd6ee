package offline

import (
	"slices"
	"strings"
)

// The vocabulary links words of questions to the nouns in names: verbs to what they create, adjectives to what they
// measure, peoples to their countries, and German, French and Spanish names to English ones.

// verbNouns links nouns for rows to the verbs that create them: "borrowed" asks for loans. The nouns come first, the
// verbs after the colon.
var verbNouns = func() map[string][]string {
	m := map[string][]string{}
	for _, line := range []string{
		"loan checkout lending: borrow borrowed borrows borrowing lend lends lent lending loaned",
		"rental hire lease: rent rented rents renting hire hired hires lease leased leases",
		"match game fixture: play played plays playing",
		"visit session: visit visited visits visiting",
		"enrollment enrolment registration: enroll enrolled enrol enrols enrolls register registered registers",
		"donation gift: donate donated donates donating gave given",
		"payment: pay paid pays paying",
		"reservation booking: reserve reserved reserves book booked books",
		"review rating: review reviewed reviews rate rated rates",
		"stay: stay stayed stays",
		"flight trip: fly flew flown flies",
		"trip ride: ride rode ridden rides travel travelled traveled travels",
		"call: call called calls",
		"vote ballot: vote voted votes",
		"order purchase sale: order ordered orders purchase purchased buy bought buys",
		"sale order: sell sold sells selling",
		"shipment delivery: ship shipped ships deliver delivered delivers",
		"screening showing: screen screened screens",
		"stream play listen: stream streamed streams listen listened listens",
		"inspection: inspect inspected inspects",
		"repair: repair repaired repairs",
		"treatment: treat treated treats",
		"harvest: harvest harvested harvests",
		"sighting observation: spot spotted sight sighted observe observed",
		"subscription: subscribe subscribed subscribes",
		"attendance: attend attended attends attending",
		"lesson class: teach taught teaches teaching",
		"download: download downloaded downloads",
		"login: login logged",
		"bid: bid bids bidding",
		"adoption: adopt adopted adopts adopting",
		"vaccination: vaccinate vaccinated vaccinates",
		"contribution: contribute contributed contributes",
		"expense: expense expensed",
	} {
		nouns, verbs, _ := strings.Cut(line, ":")
		for v := range strings.FieldsSeq(verbs) {
			m[v] = append(m[v], strings.Fields(nouns)...)
		}
	}
	return m
}()

// isVerbFor reports whether a verb means rows with a certain noun in their name.
func isVerbFor(w word, name string) bool {
	return slices.Contains(verbNouns[w.low], name) || isDerived(w.low, name)
}

// isDerived reports whether a noun is derived from a verb: prescription from prescribed.
func isDerived(verb, noun string) bool {
	if !strings.HasSuffix(noun, "tion") && !strings.HasSuffix(noun, "sion") || lightVerbs[verb] || filler[verb] ||
		strings.HasSuffix(verb, "tion") {
		return false
	}
	if !slices.ContainsFunc([]string{
		"e", "ed", "es", "ing",
	}, func(end string) bool { return strings.HasSuffix(verb, end) }) {
		return false
	}
	n := 0
	for n < min(len(verb), len(noun)) && verb[n] == noun[n] {
		n++
	}
	return n >= 5 && n >= len(noun)-5
}

// lightVerbs say that something is or was done, and set no condition. The reading mentions them. Verbs that distinguish
// rows, such as cancelled, lost, won or refunded, are not among them.
var lightVerbs = set(
	`score scored scores scoring collect collected collects collecting pay pays paying earn earned earns earning
	lead leads led leading run runs ran host hosts hosted hosting hold holds held holding carry carries carried carrying
	transport transports transported transporting move moves moved moving haul hauled deliver delivers write writes
	wrote written
	publish publishes author authored teach teaches taught teaching attend attends attended attending watch watched
	watches
	see sees saw seen treat treats treated perform performs performed performing conduct conducts conducted produce
	produces produced producing
	host offer offers offered offering provide provides provided stock stocks stocked employ employs employed
	supply supplies supplied carry serve serves served serving gather gathered raise raises raised raising
	rent rents rented renting play plays played playing visit visits visited visiting
	borrow borrows borrowed borrowing lend lends lent lending own owns owned owning drive drives drove driven driving
	fly flies flew flown stay stays stayed staying travel travels travelled traveled cover covers covered
	consume consumes consumed consuming measure measured measures weigh weighs weighed log logged logs register
	registers registered
	donate donated donates contribute contributed contributes accumulate accumulated accrue accrued total totalled
	totaled amount amounts
	process processed processes log post posted posts submit submitted submits file filed issue issued issues
	grow grows grown plant planted plants cook cooked bake baked brew brewed record recorded records cost costs
	stand stands stood sit sits offer spend reach reaches reached achieve achieved achieves get gets got gotten
	involve involves involved concern concerns concerned relate relates related associate associated
	occur occurs occurred occurring appear appears appeared start starts begin begins feature features featured
	include includes included including consist comprise located based situated found stored kept store stores
	bill bills billed booking ask asked request requested requests call called calls receive hire hires
	report reports reported reporting named called sign signs signed signing`)

// peopleWords are words for any people in the data.
var peopleWords = set(
	"people person persons anyone anybody everybody everyone somebody someone folk folks individual individuals " +
		"human humans guy guys")

// personTables are names of tables whose rows are people.
var personTables = set(
	`customer client member patient student employee user player driver person people agent doctor teacher staff guest
	visitor author owner subscriber passenger borrower volunteer donor worker artist actor nurse tenant attendee
	participant
	reader buyer seller supplier trainer coach athlete rider instructor technician kunde mitarbeiter mitglied fahrer
	client employe technik
	keeper contact lead candidate applicant voter resident citizen scientist researcher`)

// demonyms are peoples and languages, by country.
var demonyms = map[string]string{
	"brazilian": "brazil", "norwegian": "norway", "german": "germany", "french": "france", "spanish": "spain",
	"italian":    "italy",
	"portuguese": "portugal", "dutch": "netherlands", "belgian": "belgium", "swiss": "switzerland",
	"austrian": "austria", "polish": "poland",
	"czech": "czechia", "danish": "denmark", "swedish": "sweden", "finnish": "finland", "irish": "ireland",
	"british": "united kingdom",
	"english": "england", "scottish": "scotland", "welsh": "wales", "american": "united states", "canadian": "canada",
	"mexican":     "mexico",
	"argentinian": "argentina", "argentine": "argentina", "chilean": "chile", "colombian": "colombia",
	"peruvian": "peru", "japanese": "japan",
	"chinese": "china", "korean": "south korea", "indian": "india", "indonesian": "indonesia", "thai": "thailand",
	"vietnamese": "vietnam",
	"turkish":    "turkey", "greek": "greece", "russian": "russia", "ukrainian": "ukraine", "romanian": "romania",
	"hungarian": "hungary",
	"bulgarian": "bulgaria", "croatian": "croatia", "serbian": "serbia", "slovak": "slovakia", "slovenian": "slovenia",
	"icelandic":  "iceland",
	"australian": "australia", "egyptian": "egypt", "moroccan": "morocco", "nigerian": "nigeria", "kenyan": "kenya",
	"ghanaian":   "ghana",
	"senegalese": "senegal", "israeli": "israel", "iranian": "iran", "pakistani": "pakistan", "estonian": "estonia",
	"latvian":    "latvia",
	"lithuanian": "lithuania", "uruguayan": "uruguay", "filipino": "philippines", "tunisian": "tunisia",
	"algerian": "algeria",
}

// countryOf is the reverse of demonyms, because the data may have either.
var countryOf = func() map[string][]string {
	m := map[string][]string{}
	for people, country := range demonyms {
		if !strings.Contains(country, " ") {
			m[country] = append(m[country], people)
		}
	}
	return m
}()

// countryCodes are codes for countries in data.
var countryCodes = map[string]string{
	"germany": "de", "france": "fr", "spain": "es", "italy": "it", "portugal": "pt", "netherlands": "nl",
	"belgium": "be", "switzerland": "ch",
	"austria": "at", "poland": "pl", "czechia": "cz", "denmark": "dk", "sweden": "se", "norway": "no", "finland": "fi",
	"ireland": "ie",
	"uk":      "gb", "england": "gb", "britain": "gb", "usa": "us", "america": "us", "canada": "ca", "mexico": "mx",
	"brazil": "br", "japan": "jp",
	"china": "cn", "india": "in", "turkey": "tr", "greece": "gr", "australia": "au",
}

// translations maps names in German, French and Spanish data to English words. Answers keep the original names.
var translations = func() map[string][]string {
	m := map[string][]string{}
	for _, line := range []string{
		"kunde kunden kundin client clients cliente clientes acheteur: customer client",
		"bestellung bestellungen auftrag auftrage auftrags commande commandes pedido pedidos: order",
		"lieferung lieferungen livraison livraisons entrega entregas sendung sendungen: delivery shipment",
		"rechnung rechnungen facture factures factura facturas: invoice bill",
		"artikel produkt produkte produit produits producto productos ware waren article articles: product article " +
			"item",
		"betrag summe gesamt montant importe gesamtbetrag: amount total sum",
		"umsatz erlos erlose ventas vente ventes ingresos: revenue sale turnover",
		"preis preise prix precio precios einzelpreis stuckpreis: price",
		"kosten cout couts coste costo: cost expense",
		"beleg belege quittung quittungen recu recus recibo recibos: receipt",
		"menge anzahl stuck stuckzahl quantite cantidad: quantity unit piece",
		"datum jour fecha tag: date day",
		"monat mois mes: month", "jahr annee ano: year",
		"stadt ort ville ciudad cidade: city town",
		"land pays pais: country",
		"region gebiet: region",
		"kategorie categorie categoria gruppe warengruppe: category",
		"mitarbeiter mitarbeiterin mitarbeitende angestellte employe employes empleado empleados personal: employee " +
			"staff",
		"abteilung departement service departamento: department",
		"gehalt lohn salaire salario: salary",
		"filiale filialen niederlassung agence sucursal standort standorte: branch location",
		"lager depot entrepot almacen: warehouse depot",
		"lieferant lieferanten fournisseur fournisseurs proveedor: supplier vendor",
		"fahrer chauffeur conducteur conductor: driver",
		"fahrzeug fahrzeuge vehicule vehicules vehiculo: vehicle",
		"zahlung zahlungen paiement paiements pago pagos: payment",
		"zahlungsart zahlungsweise: payment method",
		"gewicht poids peso: weight",
		"rabatt remise descuento: discount",
		"bemerkung bemerkungen anmerkung remarque: remark note comment",
		"verkaufer vendeur vendedor: seller salesperson",
		"nachname nom apellido: surname", "vorname prenom nombre: forename",
		"strasse rue calle: street", "plz: postcode",
		"geburtsdatum geburtstag naissance nacimiento: birth born birthday",
		"beitrag beitrage cotisation cuota: fee dues", "gebuhr gebuhren frais: fee charge",
		"eintritt eintrittsdatum beitritt beitrittsdatum adhesion: joined join start",
		"austritt austrittsdatum kundigung: left leave exit end ended",
		"ehrenamt benevole: volunteer", "zahlweise zahlart: payment method", "betreff: subject", "bearbeiter: agent",
		"prioritat: priority",
		"geschlecht sexe sexo: gender",
		"mitglied mitglieder membre membres miembro: member",
		"buch bucher livre livres libro libros: book",
		"patient patienten paciente pacientes: patient",
		"arzt arzte medecin medecins medico: doctor physician",
		"termin termine: appointment",
		"kurs kurse cours curso cursos: course",
		"schuler student studenten etudiant etudiants eleve eleves: student pupil",
		"lehrer professeur profesor: teacher",
		"dauer duree duracion: duration",
		"strecke entfernung distanz: distance",
		"stunden heures horas: hours", "tage jours dias: days", "minuten minutes minutos: minutes",
		"zustand etat estado: status state condition",
		"bezahlt paye pagado: paid", "aktiv actif activo: active", "beschadigt endommage: damaged",
		"besuch besuche visite visites: visit", "besucher visiteurs visiteur: visitor",
		"reise reisen voyage: trip", "fahrt fahrten trajet trajets: trip ride",
		"vertrag vertrage contrat contrats contrato: contract",
		"projekt projekte projet projets: project",
		"ausgabe ausgaben depense depenses: expense", "einnahme einnahmen: income", "gewinn benefice: profit",
		"bestand stock: stock", "hersteller fabricant marque marke: manufacturer brand",
		"name bezeichnung: name", "sprache langue idioma: language", "farbe couleur color: color colour",
		"bewertung note: rating", "wert valeur valor: value", "kanal canal: channel", "verein verbande club: club",
		"spende spenden don dons: donation", "miete loyer: rent", "wohnung wohnungen appartement: apartment flat",
		"gast gaste hote: guest", "buchung buchungen reservation reservations reserva: booking reservation",
		"loja lojas tienda tiendas magasin magasins: store shop branch", "venda vendas: sale",
		"encomenda encomendas: order",
		"produto produtos: product item", "quantidade quantidades: quantity unit piece", "preco precos: price",
		"fatura faturas: invoice bill",
		"funcionario funcionarios empregado empregados: employee staff", "fornecedor fornecedores: supplier vendor",
		"pagamento pagamentos: payment",
		"desconto descontos: discount", "custo custos: cost expense", "lucro: profit", "nome: name",
		"idade edad alter: age", "genero: gender",
		"aluno alunos: student pupil", "consulta consultas: appointment visit", "despesa despesas: expense",
		"receita: revenue income",
		"zimmer chambre habitacion: room", "nacht nachte nuit nuits noches: night",
	} {
		names, words, _ := strings.Cut(line, ":")
		for n := range strings.FieldsSeq(names) {
			m[n] = append(m[n], strings.Fields(words)...)
		}
	}
	return m
}()

// valueForms maps words for outcomes to German, French and Spanish values.
var valueForms = func() map[string][]string {
	m := map[string][]string{}
	for _, line := range []string{
		"open pending outstanding: offen ausstehend ouvert abierto pendiente",
		"closed: geschlossen ferme cerrado",
		"approved accepted: genehmigt akzeptiert angenommen approuve aprobado",
		"rejected declined refused denied: abgelehnt refuse rejete rechazado",
		"cancelled canceled: storniert abgesagt gekundigt annule cancelado",
		"paid: bezahlt paye pagado",
		"done completed finished: erledigt abgeschlossen fertig termine terminado completado",
		"delivered: geliefert zugestellt livre entregado",
		"shipped sent: versendet versandt verschickt expedie enviado",
		"returned: retourniert zuruckgegeben retourne devuelto",
		"confirmed: bestatigt confirme confirmado",
		"new: neu nouveau nuevo", "active: aktiv actif activo", "inactive: inaktiv inactif inactivo",
		"female woman: weiblich femme", "male man: mannlich homme", "cash: bar especes efectivo",
	} {
		words, forms, _ := strings.Cut(line, ":")
		for w := range strings.FieldsSeq(words) {
			m[w] = append(m[w], strings.Fields(forms)...)
		}
	}
	return m
}()

// isTranslation reports whether a word is the English translation of a name.
func isTranslation(w word, name string) bool {
	in := english(name)
	return slices.Contains(in, w.sing) || slices.Contains(in, w.low) || endsCompound(w.low, name)
}

// english returns the English words for a foreign name. A German compound means what its last part means: jahresbeitrag
// is a beitrag.
func english(name string) []string {
	for i := 0; i == 0 || i >= 3 && len(name)-i >= 5; i++ {
		if words := translations[name[i:]]; words != nil {
			return words
		}
		if i == 0 {
			i = 2
		}
	}
	return nil
}

// endsCompound reports whether a German name ends with a word: jahresbeitrag and beitrag.
func endsCompound(w, name string) bool {
	return len(w) >= 5 && len(name) >= len(w)+3 && translations[w] != nil && strings.HasSuffix(name, w)
}

// means reports whether a column's name has one of some words, in English or another language.
func (c *column) means(words map[string]bool) bool {
	return slices.ContainsFunc(slices.Concat(c.words, c.optional), func(w string) bool {
		return words[w] || slices.ContainsFunc(english(w), func(e string) bool { return words[e] })
	})
}

// classifiers are general nouns that may follow the name of a column: "membership type".
var classifiers = set("type kind category class group name label value level field column status title")

// yesNo are pairs of texts that mean yes and no.
var yesNo = map[string]string{
	"yes": "no", "y": "n", "true": "false", "t": "f", "ja": "nein", "j": "n", "oui": "non", "o": "n", "si": "no",
	"s": "n", "1": "0", "x": "", "on": "off",
}
