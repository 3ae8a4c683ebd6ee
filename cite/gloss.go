package cite

import "strings"

// The resolver searches for words that relate figures ("grew by", "more than", "from … to") in English only. This file
// replaces such words of another language by the English ones. Words that may name a row or a column remain.

// glossary maps the words of a language to English.
type glossary struct {
	small map[string]bool   // frequent words that identify the language
	words map[string]string // to English
}

var glossaries = []glossary{{
	small: set("der die und mit von wurden waren auf den eine sind ist nicht bei im zu sich"),
	words: readGlosses(`
grew: wuchs wuchsen wächst wachsen legte legten
grown: gewachsen zugelegt
rose: stieg stiegen steigt steigen
risen: gestiegen
fell: sank sanken fiel fielen sinkt fällt
fallen: gesunken gefallen zurückgegangen
lost: verlor verloren verlieren
went: ging gingen
reached: erreichte erreichten erreicht
exceeded: übertraf übertrafen übersteigt
decline: rückgang
increase: anstieg zuwachs plus
decrease: minus
growth: wachstum
difference: unterschied differenz abstand
short: fehlen fehlt fehlten
up: aufwärts
down: abwärts
by: um
than: als
more: mehr
fewer: weniger
higher: höher höhere höheren
lower: niedriger niedrigere geringer
over: über
under: unter
versus: gegenüber
compared: verglichen
at: bei
in: im
remaining: restlichen restliche übrigen verbleibenden verbleibende
both: beide beiden
together: zusammen
represent: stehen steht ausmachen machen entfallen
largest: größte größten größter
highest: höchste höchsten
smallest: kleinste kleinsten
lowest: niedrigste niedrigsten
strongest: stärkste stärksten
weakest: schwächste schwächsten
most: meisten
fewest: wenigsten
best: beste besten
first: ersten erste
last: letzten letzte
each: jeder jede jedes jeweils
twice: doppelt
doubled: verdoppelte verdoppelten verdoppelt
quarter: viertel
third: drittel
half: hälfte
a: ein eine einem einen
but: aber
while: während`),
}, {
	small: set("dos foram com em uma não os foi do da no na ao que para"),
	words: readGlosses(`
grew: cresceu cresceram cresce
increased: aumentou aumentaram
rose: subiu subiram
fell: caiu caíram cair recuou recuaram diminuiu diminuíram
lost: perdeu perderam
gained: ganhou ganharam
went: passou passaram
reached: chegou atingiu
exceeded: ultrapassou superou
decline: queda recuo
reduction: redução
increase: aumento alta
growth: crescimento
difference: diferença
more: mais
less: menos
above: acima
below: abaixo
versus: contra
at: a
in: em no na nos nas
remaining: restantes restante
both: ambos ambas
represent: representam representa respondem responde
largest: maior maiores
smallest: menor menores
best: melhor melhores
worst: pior piores
first: primeiro primeiros primeira primeiras
last: último últimos última últimas
each: cada
twice: dobro
doubled: dobrou duplicou duplicaram
third: terço
half: metade
nearly: quase
a: um uma
but: mas
while: enquanto`),
}}

// readGlosses reads lines with an English word and its translations.
func readGlosses(list string) map[string]string {
	words := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(list), "\n") {
		english, all, _ := strings.Cut(line, ":")
		for w := range strings.FieldsSeq(all) {
			words[w] = english
		}
	}
	return words
}

// gloss translates the words of a text with a decimal comma.
func (p *prose) gloss() {
	if !p.decimalComma {
		return
	}
	var words map[string]string
	most := 0
	for _, g := range glossaries {
		count := 0
		for i := range p.tokens {
			if g.small[p.tokens[i].low] {
				count++
			}
		}
		if count > most {
			most, words = count, g.words
		}
	}
	for i := range p.tokens {
		t := &p.tokens[i]
		if !t.word || t.code {
			continue
		}
		english := words[t.low]
		if english == "" {
			english = p.linkGloss(i)
		}
		if english != "" {
			t.low, t.glossed = english, true
		}
	}
}

// linkGloss translates prepositions with several meanings: "von 3 auf 4", "de 3 para 4", "fünf der sieben", "mais do
// que".
func (p *prose) linkGloss(i int) string {
	switch w := p.low(i); w {
	case "von", "de":
		if p.isFigure(i+1) && p.hasSecondFigure(i+1) {
			return "from"
		}
		if p.isFigure(i+1) || p.isFigure(i-1) {
			return "of"
		}
	case "gut":
		if p.isFigure(i + 1) {
			return "over"
		}
	}
	return ""
}

// isFigure reports whether a number begins at token i, with or without a currency sign.
func (p *prose) isFigure(i int) bool {
	w := p.low(i)
	if w == "€" || w == "$" || w == "£" {
		w = p.low(i + 1)
	}
	return w != "" && (w[0] >= '0' && w[0] <= '9' || cardinals[w] > 0 || foreignCardinals[w] > 0)
}

// hasSecondFigure reports whether "auf" or "para" and another number follow in the sentence.
func (p *prose) hasSecondFigure(from int) bool {
	for i := from; i < from+12 && i < len(p.tokens) && p.tokens[i].sentence == p.tokens[from].sentence; i++ {
		if w := p.low(i); (w == "auf" || w == "para") && p.isFigure(i+1) {
			return true
		}
	}
	return false
}

// ownWord returns the untranslated word of token i in lower case.
func (p *prose) ownWord(i int) string {
	if t := p.tokens[i]; t.glossed {
		return strings.ToLower(p.text[t.start:t.end])
	}
	return p.tokens[i].low
}
