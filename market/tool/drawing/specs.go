package drawing

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	core "github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/tool"
)

// property is the schema of a parameter.
type property = map[string]any

// schemaOf returns the schema of an object with the given properties, some of them required.
func schemaOf(required []string, props property) json.RawMessage {
	data, err := json.Marshal(property{
		"type": "object", "required": required, "properties": props, "additionalProperties": false,
	})
	if err != nil {
		panic("market/tool/drawing: " + err.Error()) // cannot happen: texts and numbers always encode
	}
	return data
}

func text(what string, maxLength int) property {
	return property{"type": "string", "description": what, "maxLength": maxLength}
}

func number(what string) property { return property{"type": "number", "description": what} }

func enum(what string, of []string) property {
	return property{"type": "string", "description": what, "enum": of}
}

const whenWords = "When: RFC 3339 in UTC such as 2026-11-20T14:00:00Z, or unix seconds. Take it from the candles you " +
	"have read; it is moved to the beginning of its bar."

func when(what string) property {
	return property{"type": []string{"string", "integer"}, "description": what + " " + whenWords}
}

func anchor(what string) property {
	return property{
		"type": "object", "description": what, "required": []string{"timestamp", "price"},
		"additionalProperties": false,
		"properties":           property{"timestamp": when(""), "price": number("The price there.")},
	}
}

// shared returns the parameters that every drawing has.
func shared() property {
	return property{
		"notes": text("Why it matters, in a sentence or two: what happened there, and what would make it wrong. "+
			"The user reads it.", 4000),
		"tags": property{
			"type": "array", "maxItems": 20, "items": property{"type": "string", "minLength": 1, "maxLength": 50},
			"description": "What it is: support, resistance, fib, swing, london-high and the like.",
		},
		"importance": enum("How much it matters.", core.Importances),
		"visibility": property{
			"description": `On which timeframes it is shown: "all", or a list of them. Left out: all.`,
			"type":        []string{"string", "array"}, "items": property{"type": "string", "enum": core.Timeframes},
		},
	}
}

// styled returns the parameters of everything drawn with a line.
func styled() property {
	return property{
		"label":     text("A few words at the drawing.", 200),
		"color":     text("A color such as #26a69a.", 40),
		"lineStyle": enum("How the line is drawn.", core.LineStyles),
	}
}

func join(all ...property) property {
	out := property{}
	for _, p := range all {
		maps.Copy(out, p)
	}
	return out
}

const bothTimes = "Both ends lie on candles that you have read. "

// drawn maps the tools that draw to the types they draw.
var drawn = map[string]string{
	"draw_horizontal_line": core.HorizontalLine, "draw_horizontal_ray": core.HorizontalRay,
	"draw_vertical_line": core.VerticalLine,
	"draw_fibonacci":     core.Fibonacci, "draw_trendline": core.Trendline, "draw_rectangle": core.Rectangle,
	"draw_circle": core.Circle,
	"draw_text":   core.Text, "draw_long_position": core.LongPosition, "draw_short_position": core.ShortPosition,
	"draw_marker": core.Marker,
}

const (
	updateDrawing = "update_drawing"
	removeDrawing = "remove_drawing"
	scrollChart   = "scroll_chart"
)

func specs() []tool.Spec { return slices.Concat(levels(), shapes(), positions(), changes()) }

// levels returns the tools that draw prices, times, and lines through swings.
func levels() []tool.Spec {
	return []tool.Spec{
		{
			Name: "draw_horizontal_line", Label: "Drawing a horizontal line", Family: tool.Drawing,
			Description: "Draw a level across the whole chart: support, resistance, a round number, the high of a " +
				"day. " +
				"Look at the drawings that are there first: a level that is drawn already is refused, with the id of " +
				"the one to update. " +
				"Say in notes what makes it a level: how often it was touched, and when.",
			InputSchema: schemaOf([]string{"price"}, join(shared(), styled(), property{"price": number("The level.")})),
		}, {
			Name: "draw_horizontal_ray", Label: "Drawing a horizontal ray", Family: tool.Drawing,
			Description: "Draw a level that begins at a candle and goes on to the right: a level that a certain " +
				"swing made. " +
				"Use it instead of a line when it matters since when the level counts. " +
				"A level that is drawn already is refused, with the id of the one to update.",
			InputSchema: schemaOf([]string{
				"anchor",
			}, join(shared(), styled(), property{"anchor": anchor("Where it begins.")})),
		}, {
			Name: "draw_vertical_line", Label: "Drawing a vertical line", Family: tool.Drawing,
			Description: "Draw a line at a time: a release, the open of a session, the day of a change. " +
				"It may be ahead of the newest candle, for an event that is coming up. " +
				"Say in label what happens then.",
			InputSchema: schemaOf([]string{
				"timestamp",
			}, join(shared(), styled(), property{"timestamp": when("The time.")})),
		}, {
			Name: "draw_fibonacci", Label: "Drawing a fibonacci", Family: tool.Drawing,
			Description: "Draw a Fibonacci retracement of a swing. " + bothTimes +
				"anchor1 is where the swing begins and anchor2 where it ends: level 0 is at anchor2 and level 1 at " +
				"anchor1.",
			InputSchema: schemaOf([]string{"anchor1", "anchor2"}, join(shared(), styled(), property{
				"anchor1": anchor("Where the swing begins."), "anchor2": anchor("Where it ends."),
				"levels": property{
					"type": "array", "maxItems": 30, "items": property{"type": "number", "minimum": -10, "maximum": 10},
					"description": "Shares of the swing, such as 0.618. Left out: 0, 0.236, 0.382, 0.5, 0.618, " +
						"0.786, 1.",
				},
			})),
		}, {
			Name: "draw_trendline", Label: "Drawing a trendline", Family: tool.Drawing,
			Description: "Draw a line through two swings, and on beyond them where type says so. " + bothTimes +
				"Two lows make a line of support, two highs one of resistance; a third touch makes it worth more, so " +
				"say in notes how many there were.",
			InputSchema: schemaOf([]string{"anchor1", "anchor2"}, join(shared(), styled(), property{
				"anchor1": anchor("The earlier point."), "anchor2": anchor("The later point."),
				"type": enum("none ends at its points, ray goes on to the right, arrow ends in a head, extended goes "+
					"on both ways. Left out: none.", core.Extends),
			})),
		},
	}
}

// shapes returns the tools that draw areas, texts and marks.
func shapes() []tool.Spec {
	return []tool.Spec{
		{
			Name: "draw_rectangle", Label: "Drawing a rectangle", Family: tool.Drawing,
			Description: "Draw a zone between two prices and two times: a range, an area of supply or demand, a gap. " +
				"Its corners are anchor1 and anchor2, in any order. " +
				"Use it where a level is really an area.",
			InputSchema: schemaOf([]string{"anchor1", "anchor2"}, join(shared(), styled(), property{
				"anchor1": anchor("One corner."), "anchor2": anchor("The corner across."),
				"fillColor": text("The color inside, such as rgba(38, 166, 154, 0.15).", 60),
			})),
		}, {
			Name: "draw_circle", Label: "Drawing a circle", Family: tool.Drawing,
			Description: "Draw a circle around something to look at: a cluster of wicks, a failed break. " +
				"center is its middle and edge a point on it. " +
				"Use it seldom; a marker or a text says more.",
			InputSchema: schemaOf([]string{"center", "edge"}, join(shared(), styled(), property{
				"center": anchor("Its middle."), "edge": anchor("A point on it."),
				"fillColor": text("The color inside.", 60),
			})),
		}, {
			Name: "draw_text", Label: "Drawing a text", Family: tool.Drawing,
			Description: "Write words on the chart, at a candle and a price. " +
				"Keep it to a few words, and say the rest in notes. " +
				"What belongs to another drawing is its label, and no text of its own.",
			InputSchema: schemaOf([]string{"anchor", "text"}, join(shared(), property{
				"anchor": anchor("Where the words begin."),
				"text":   property{"type": "string", "minLength": 1, "maxLength": 1000, "description": "The words."},
				"color":  styled()["color"],
				"size":   property{"type": "number", "minimum": 0.1, "maximum": 100, "description": "In pixels."},
			})),
		}, {
			Name: "draw_marker", Label: "Drawing a marker", Family: tool.Drawing,
			Description: "Mark one candle: a swing, an entry, a rejection. " +
				"The candle must be there. " +
				"Say in label what it marks, in a few words.",
			InputSchema: schemaOf([]string{"anchor"}, join(shared(), property{
				"anchor":     anchor("The candle, and the price at which the mark stands."),
				"markerType": enum("Left out: circle.", core.MarkerTypes),
				"size": property{
					"type": "number", "minimum": 0.1, "maximum": 100, "description": "1 is the usual one.",
				}, "label": styled()["label"], "color": styled()["color"],
			})),
		},
	}
}

// positions returns the tools that draw trade ideas.
func positions() []tool.Spec {
	var list []tool.Spec
	for _, side := range []string{"long", "short"} {
		below, above := "stopLoss", "takeProfit"
		if side == "short" {
			below, above = above, below
		}
		list = append(list, tool.Spec{
			Name: "draw_" + side + "_position", Label: "Drawing a " + side + " position", Family: tool.Drawing,
			Description: "Draw an idea for a " + side +
				" trade: its entry, its stop and its target. Nothing is ordered; it is a drawing. " +
				below + " is below the entry and " + above +
				" above; how much reward there is for the risk is computed and returned. " +
				"It begins as a signal: move it on with update_drawing when the user says that it is pending, open " +
				"or closed.",
			InputSchema: schemaOf([]string{"entry", "takeProfit", "stopLoss"}, join(shared(), property{
				"entry": number("Where it would be entered."), "takeProfit": number("Its target."),
				"stopLoss": number("Where it would be wrong."),
				"label":    styled()["label"], "status": enum("Left out: signal.", core.Statuses),
				"timestamp":    when("From when it is shown. Left out: the newest candle."),
				"endTimestamp": when("Until when it is shown. Left out: 20 candles later."),
			}))})
	}
	return list
}

// changes returns the tools that change drawings, and the one that moves the chart.
func changes() []tool.Spec {
	return []tool.Spec{{
		Name: updateDrawing, Label: "Changing a drawing", Family: tool.Drawing,
		Description: "Change a drawing that is there: move it, restyle it, say more of it, move a position on. " +
			"Change what exists rather than removing it and drawing it again: its history stays. " +
			"reason is required and is kept with the change, with what each field was before; say what you saw that " +
			"made it necessary. " +
			"With version, the one you read the drawing at, the change is refused when somebody has changed it " +
			"since, and you are told how it is now.",
		InputSchema: schemaOf([]string{"drawingId", "reason"}, join(shared(), styled(), property{
			"drawingId": text("Its id, as the list of drawings says it.", 64),
			"reason": property{
				"type": "string", "minLength": 1, "maxLength": core.MostReason,
				"description": "Why, in a sentence: Price closed below it twice, and the new swing low is 1.0920.",
			},
			"version": property{"type": "integer", "minimum": 1, "description": "Its version, as you read it."},
			"price":   number("Of a horizontal line."), "anchor": anchor("Of a ray, a text or a marker."),
			"anchor1": anchor("The first of two."), "anchor2": anchor("The second of two."),
			"center": anchor("Of a circle."), "edge": anchor("Of a circle."),
			"timestamp":    when("Of a vertical line; from when a position is shown."),
			"endTimestamp": when("Until when a position is shown."),
			"type":         enum("How a trendline goes on.", core.Extends),
			"levels": property{
				"type": "array", "maxItems": 30, "items": property{"type": "number", "minimum": -10, "maximum": 10},
				"description": "Of a Fibonacci.",
			},
			"text": text("Of a text.", 1000), "fillColor": text("The color inside.", 60),
			"markerType": enum("Of a marker.", core.MarkerTypes),
			"size": property{
				"type": "number", "minimum": 0.1, "maximum": 100, "description": "Of a marker or a text.",
			},
			"entry": number("Of a position."), "takeProfit": number("Of a position."),
			"stopLoss": number("Of a position."),
			"status": enum("Of a position. It goes "+strings.Join(core.Statuses, " → ")+", and never back.",
				core.Statuses),
			"hidden": property{"type": "boolean", "description": "Whether it is hidden."},
		})),
	}, {
		Name: removeDrawing, Label: "Removing a drawing", Family: tool.Drawing,
		Description: "Remove a drawing that no longer holds. " +
			"reason is required and is kept; the user can take the removal back. " +
			"Remove what the user drew only when they ask for it.",
		InputSchema: schemaOf([]string{"drawingId", "reason"}, property{
			"drawingId": text("Its id, as the list of drawings says it.", 64),
			"reason": property{
				"type": "string", "minLength": 1, "maxLength": core.MostReason, "description": "Why, in a sentence.",
			},
			"version": property{"type": "integer", "minimum": 1, "description": "Its version, as you read it."},
		}),
	}, {
		Name: scrollChart, Label: "Moving the chart", Family: tool.ChartView,
		Description: "Move the user's chart so that a time is in sight. " +
			"Use it to show the user what you speak of, when it is not on the screen. " +
			"It changes nothing.",
		InputSchema: schemaOf([]string{"timestamp"}, property{"timestamp": when("What is to be in sight.")}),
		ReadOnly:    true,
	}}
}

// Names returns the names of the tools.
func Names() []string {
	names := []string{getDrawings}
	for _, s := range specs() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}
