package claude

import (
	"encoding/json"
	"reflect"
	"testing"
)

// countedEvents begin and end messages, as the vendor and others write them. Those in the first list are read
// without reflection.
var countedEvents = [2][]string{{
	`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5-5",` +
		`"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,` +
		`"cache_creation_input_tokens":7,"cache_read_input_tokens":5,"cache_creation":{"ephemeral_5m_input_tokens":3,` +
		`"ephemeral_1h_input_tokens":4},"output_tokens":1,"service_tier":"standard"}}}`,
	`{"type":"message_start","message":{"id":"m","model":"x","usage":{"cache_creation":null,"output_tokens":null}} }`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":89}}`,
	`{"type":"message_delta", "delta" : { "stop_reason" : null } , "usage" : { "output_tokens" : 1 , ` +
		`"server_tool_use" : {"web_search_requests":2}, "output_tokens_details":{"thinking_tokens":11} } , ` +
		`"new":[{"a":"}"},1,"\"]"]}`,
	`{"type":"message_delta","usage":{}}`,
	`{"type":"message_delta","context_management":{}}`,
}, {
	`{"type":"message_delta","delta":{"stop_reason":"end\u005fturn"}}`,
	`{"type":"message_delta","delta":{"stop_reason":"größe"},"usage":{"output_tokens":3}}`,
	`{"type":"message_delta","delta":{"stop_reason":"x","type":"text_delta"},"usage":{"output_tokens":-3}}`,
	`{"type":"message_delta","usage":{"output_tokens":12.7,"input_tokens":1e3}}`,
	`{"type":"message_delta","usage":{"output_tokens":"12"}}`,
	`{"type":"message_delta","usage":{"output_tokens":1234567890123}}`,
	`{"type":"message_delta","usage":{"Output_Tokens":4}}`,
	`{"type":"message_delta","usage":null,"error":{"type":"x"}}`,
	`{"type":"message_delta","usage":[]}`,
	`{"type":"message_delta","usage":{"output_tokens":1}`,
	`{"type":"message_delta","type":"message_stop"}`,
	`{"type":"message_start","message":{"id":"m","content":"x"}}`,
	`{"type":"message_start","message":{"id":7}}`,
	`{"type":"message_start","usage":{"input_tokens":1},"message":{"id":"m"}}`,
	`{"type":"message_start","message":null}`,
	`{"type":"message_start"}`,
}}

// viaJSON processes an event with encoding/json.
func (m *message) viaJSON(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	return m.dispatch(e)
}

// TestCounted checks that the fast path reads what encoding/json reads, and changes nothing for events that
// it rejects.
func TestCounted(t *testing.T) {
	for unusual, list := range countedEvents {
		for _, data := range list {
			var fast, slow message
			if ok := fast.counted([]byte(data)); ok != (unusual == 0) {
				t.Errorf("%s: taken %v", data, ok)
				continue
			}
			if unusual == 0 {
				if err := slow.viaJSON([]byte(data)); err != nil {
					t.Errorf("%s: %v", data, err)
				}
			}
			if !reflect.DeepEqual(fast, slow) {
				t.Errorf("%s:\n%+v, not\n%+v", data, fast, slow)
			}
		}
	}
}

// FuzzCounted looks for an event that the two paths read differently.
func FuzzCounted(f *testing.F) {
	for _, list := range countedEvents {
		for _, data := range list {
			f.Add([]byte(data))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var fast, slow message
		if !fast.counted(data) {
			return
		}
		if err := slow.viaJSON(data); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if !reflect.DeepEqual(fast, slow) {
			t.Errorf("%s:\n%+v, not\n%+v", data, fast, slow)
		}
	})
}

func BenchmarkCounted(b *testing.B) {
	for _, i := range []int{0, 2} {
		data := []byte(countedEvents[0][i])
		b.Run(string(data[9:22]), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var m message
				if err := m.handle(nil, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
