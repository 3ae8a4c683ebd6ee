package drawing

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	core "github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/tool"
)

// Names of tools that other code refers to. A message mentions only some of the drawings, and a chart may have
// thousands: get_drawings lists them.
const (
	getDrawings   = "get_drawings"
	updateDrawing = "update_drawing"
	removeDrawing = "remove_drawing"
	scrollChart   = "scroll_chart"
)

// drawn maps the tools that draw to the types they draw.
var drawn = map[string]string{
	"draw_horizontal_line": core.HorizontalLine, "draw_horizontal_ray": core.HorizontalRay,
	"draw_vertical_line": core.VerticalLine, "draw_fibonacci": core.Fibonacci, "draw_trendline": core.Trendline,
	"draw_rectangle": core.Rectangle, "draw_circle": core.Circle, "draw_text": core.Text,
	"draw_long_position": core.LongPosition, "draw_short_position": core.ShortPosition, "draw_marker": core.Marker,
}

//go:embed tools.yaml
var toolsFile string

const whenWords = "When: RFC 3339 in UTC such as 2026-11-20T14:00:00Z, or unix seconds. Take it from the candles you " +
	"have read; it is moved to the beginning of its bar, unless it is after the last one."

// specs reads the descriptions of the tools.
func specs() []tool.Spec {
	var file struct {
		Tools []struct {
			Name, Label, Family, Description string
			ReadOnly                         bool `yaml:"readOnly"`
			Required                         []string
			Properties                       map[string]any
		}
	}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(toolsFile, "{when}", whenWords)), &file); err != nil {
		panic(fmt.Sprintf("market/tool/drawing: tools.yaml: %v", err))
	}
	var list []tool.Spec
	for _, t := range file.Tools {
		input, err := json.Marshal(map[string]any{
			"type": "object", "required": t.Required, "properties": t.Properties, "additionalProperties": false,
		})
		if err != nil {
			panic(fmt.Sprintf("market/tool/drawing: tools.yaml: %s: %v", t.Name, err))
		}
		list = append(list, tool.Spec{
			Name: t.Name, Label: t.Label, Family: t.Family, Description: t.Description, InputSchema: input,
			Side: tool.Server, ReadOnly: t.ReadOnly,
		})
	}
	return list
}
