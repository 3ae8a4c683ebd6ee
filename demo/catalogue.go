package demo

import (
	_ "embed"
	"fmt"

	"gopkg.in/yaml.v3"
)

//go:embed catalogue.yaml
var catalogueFile []byte

// catalogue holds what the shop sells and where its customers live.
type catalogue struct {
	Categories []struct {
		Code, Name   string
		Weight, Cost int // the cost is percent of the price
		Products     []struct {
			Name          string
			Cents, Weight int
		}
	}
	Places []struct {
		Country             string
		Weight              int
		Cities, First, Last []string
	}
}

func readCatalogue() catalogue {
	var c catalogue
	if err := yaml.Unmarshal(catalogueFile, &c); err != nil {
		panic(fmt.Sprintf("demo: catalogue.yaml: %v", err))
	}
	return c
}
