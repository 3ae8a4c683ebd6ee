package offline

import "slices"

// The vocabulary links words of questions to the nouns in names: verbs to what they create, adjectives to what they
// measure, peoples to their countries, and German, French and Spanish names to English ones.

// verbNouns links nouns for rows to the verbs that create them: "borrowed" asks for loans. The verbs come first, the
// nouns after the colon.
var verbNouns = glossary(`
	borrow borrowed borrows borrowing lend lends lent lending loaned: loan checkout lending;
	rent rented rents renting hire hired hires lease leased leases: rental hire lease;
	play played plays playing: match game fixture; visit visited visits visiting: visit session;
	enroll enrolled enrol enrols enrolls register registered registers: enrollment enrolment registration;
	donate donated donates donating gave given: donation gift; pay paid pays paying: payment;
	reserve reserved reserves book booked books: reservation booking;
	review reviewed reviews rate rated rates: review rating; stay stayed stays: stay;
	fly flew flown flies: flight trip; ride rode ridden rides travel travelled traveled travels: trip ride;
	call called calls: call; vote voted votes: vote ballot;
	order ordered orders purchase purchased buy bought buys: order purchase sale;
	sell sold sells selling: sale order; ship shipped ships deliver delivered delivers: shipment delivery;
	screen screened screens: screening showing; stream streamed streams listen listened listens: stream play listen;
	inspect inspected inspects: inspection; repair repaired repairs: repair; treat treated treats: treatment;
	harvest harvested harvests: harvest; spot spotted sight sighted observe observed: sighting observation;
	subscribe subscribed subscribes: subscription; attend attended attends attending: attendance;
	teach taught teaches teaching: lesson class; download downloaded downloads: download; login logged: login;
	bid bids bidding: bid; adopt adopted adopts adopting: adoption; vaccinate vaccinated vaccinates: vaccination;
	contribute contributed contributes: contribution; expense expensed: expense`)

// isVerbFor reports whether a verb means rows with a certain noun in their name.
func isVerbFor(w word, name string) bool {
	return slices.Contains(verbNouns[w.low], name)
}

// lightVerbs say that something is or was done, and set no condition. The reading mentions them. Verbs that distinguish
// rows, such as cancelled, lost, won or refunded, are not among them.
var lightVerbs = set(
	`score scored scores scoring collect collected collects collecting pay pays paying earn earned earns earning lead
	leads led leading run runs ran host hosts hosted hosting hold holds held holding carry carries carried carrying
	transport transports transported transporting move moves moved moving haul hauled deliver delivers write writes
	wrote written publish publishes author authored teach teaches taught teaching attend attends attended attending
	watch watched watches see sees saw seen treat treats treated perform performs performed performing conduct
	conducts conducted produce produces produced producing host offer offers offered offering provide provides
	provided stock stocks stocked employ employs employed supply supplies supplied carry serve serves served serving
	gather gathered rent rents rented renting play plays played playing visit visits
	visited visiting borrow borrows borrowed borrowing lend lends lent lending own owns owned owning drive drives
	drove driven driving fly flies flew flown stay stays stayed staying travel travels travelled traveled cover
	covers covered consume consumes consumed consuming measure measured measures weigh weighs weighed log logged
	logs register registers registered donate donated donates contribute contributed contributes accumulate
	accumulated accrue accrued total totalled totaled amount amounts process processed processes log post posted
	posts submit submitted submits file filed issue issued issues plant planted plants cook cooked
	bake baked brew brewed record recorded records cost costs stand stands stood sit sits offer spend reach reaches
	reached achieve achieved achieves get gets got gotten involve involves involved concern concerns concerned
	relate relates related associate associated occur occurs occurred occurring appear appears appeared start starts
	begin begins feature features featured include includes included including consist comprise located based
	situated found stored kept store stores bill bills billed booking ask asked request requested requests call
	called calls receive hire hires report reports reported reporting named called sign signs signed signing`)

// peopleWords are words for any people in the data.
var peopleWords = set(
	"people person persons anyone anybody everybody everyone somebody someone folk folks individual individuals " +
		"human humans guy guys")

// personTables are names of tables whose rows are people.
var personTables = set(
	`customer client member patient student employee user player driver person people agent doctor teacher staff
	guest visitor author owner subscriber passenger borrower volunteer donor worker artist actor nurse tenant
	attendee participant reader buyer seller supplier trainer coach athlete rider instructor technician kunde
	mitarbeiter mitglied fahrer client employe technik keeper contact lead candidate applicant voter resident
	citizen scientist researcher`)

// translations maps names in German, French and Spanish data to English words. Answers keep the original names.
var translations = glossary(`
	kunde kunden kundin client clients cliente clientes acheteur: customer client;
	bestellung bestellungen auftrag auftrage auftrags commande commandes pedido pedidos: order;
	lieferung lieferungen livraison livraisons entrega entregas sendung sendungen: delivery shipment;
	rechnung rechnungen facture factures factura facturas: invoice bill;
	artikel produkt produkte produit produits producto productos ware waren article articles: product article item;
	betrag summe gesamt montant importe gesamtbetrag: amount total sum;
	umsatz erlos erlose ventas vente ventes ingresos: revenue sale turnover;
	preis preise prix precio precios einzelpreis stuckpreis: price; kosten cout couts coste costo: cost expense;
	beleg belege quittung quittungen recu recus recibo recibos: receipt;
	menge anzahl stuck stuckzahl quantite cantidad: quantity unit piece; datum jour fecha tag: date day;
	monat mois mes: month; jahr annee ano: year; stadt ort ville ciudad cidade: city town; land pays pais: country;
	region gebiet: region; kategorie categorie categoria gruppe warengruppe: category;
	mitarbeiter mitarbeiterin mitarbeitende angestellte employe employes empleado empleados personal: employee staff;
	abteilung departement service departamento: department; gehalt lohn salaire salario: salary;
	filiale filialen niederlassung agence sucursal standort standorte: branch location;
	lager depot entrepot almacen: warehouse depot;
	lieferant lieferanten fournisseur fournisseurs proveedor: supplier vendor;
	fahrer chauffeur conducteur conductor: driver; fahrzeug fahrzeuge vehicule vehicules vehiculo: vehicle;
	zahlung zahlungen paiement paiements pago pagos: payment; zahlungsart zahlungsweise: payment method;
	gewicht poids peso: weight; rabatt remise descuento: discount;
	bemerkung bemerkungen anmerkung remarque: remark note comment; verkaufer vendeur vendedor: seller salesperson;
	nachname nom apellido: surname; vorname prenom nombre: forename; strasse rue calle: street; plz: postcode;
	geburtsdatum geburtstag naissance nacimiento: birth born birthday; beitrag beitrage cotisation cuota: fee dues;
	gebuhr gebuhren frais: fee charge; eintritt eintrittsdatum beitritt beitrittsdatum adhesion: joined join start;
	austritt austrittsdatum kundigung: left leave exit end ended; ehrenamt benevole: volunteer;
	zahlweise zahlart: payment method; betreff: subject; bearbeiter: agent; prioritat: priority;
	geschlecht sexe sexo: gender; mitglied mitglieder membre membres miembro: member;
	buch bucher livre livres libro libros: book; patient patienten paciente pacientes: patient;
	arzt arzte medecin medecins medico: doctor physician; termin termine: appointment;
	kurs kurse cours curso cursos: course; schuler student studenten etudiant etudiants eleve eleves: student pupil;
	lehrer professeur profesor: teacher; dauer duree duracion: duration; strecke entfernung distanz: distance;
	stunden heures horas: hours; tage jours dias: days; minuten minutes minutos: minutes;
	zustand etat estado: status state condition; bezahlt paye pagado: paid; aktiv actif activo: active;
	beschadigt endommage: damaged; besuch besuche visite visites: visit; besucher visiteurs visiteur: visitor;
	reise reisen voyage: trip; fahrt fahrten trajet trajets: trip ride;
	vertrag vertrage contrat contrats contrato: contract; projekt projekte projet projets: project;
	ausgabe ausgaben depense depenses: expense; einnahme einnahmen: income; gewinn benefice: profit;
	bestand stock: stock; hersteller fabricant marque marke: manufacturer brand; name bezeichnung: name;
	sprache langue idioma: language; farbe couleur color: color colour; bewertung note: rating;
	wert valeur valor: value; kanal canal: channel; verein verbande club: club; spende spenden don dons: donation;
	miete loyer: rent; wohnung wohnungen appartement: apartment flat; gast gaste hote: guest;
	buchung buchungen reservation reservations reserva: booking reservation;
	loja lojas tienda tiendas magasin magasins: store shop branch; venda vendas: sale; encomenda encomendas: order;
	produto produtos: product item; quantidade quantidades: quantity unit piece; preco precos: price;
	fatura faturas: invoice bill; funcionario funcionarios empregado empregados: employee staff;
	fornecedor fornecedores: supplier vendor; pagamento pagamentos: payment; desconto descontos: discount;
	custo custos: cost expense; lucro: profit; nome: name; idade edad alter: age; genero: gender;
	aluno alunos: student pupil; consulta consultas: appointment visit; despesa despesas: expense;
	receita: revenue income; zimmer chambre habitacion: room; nacht nachte nuit nuits noches: night`)

// isTranslation reports whether a word is the English translation of a name.
func isTranslation(w word, name string) bool {
	in := english(name)
	return slices.Contains(in, w.sing) || slices.Contains(in, w.low)
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

// means reports whether a column's name has one of some words, in English or another language.
func (c *column) means(words map[string]bool) bool {
	return slices.ContainsFunc(c.names(), func(w string) bool {
		return words[w] || anyOf(english(w), words)
	})
}

// yesNo are pairs of texts that mean yes and no.
var yesNo = map[string]string{
	"yes": "no", "y": "n", "true": "false", "t": "f", "ja": "nein", "j": "n", "oui": "non", "o": "n",
	"si": "no", "s": "n", "1": "0", "x": "", "on": "off",
}
