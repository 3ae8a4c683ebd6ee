package footnote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// bodyTypes are the types of stored bodies by their kinds.
var bodyTypes = func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, b := range []Body{
		Opened{}, UserMessage{}, Imported{}, AssistantMessage{}, ToolResult{}, ApprovalAsked{}, ApprovalGiven{},
		RunStarted{}, RunParked{}, RunResumed{}, RunFinished{}, RunFailed{}, RunStopped{}, StepFailed{}, Segmented{},
		Rewound{}, Answered{}, Titled{}, Feedback{}, QueryRun{}, SourceAdded{}, DrawingChanged{}, WorkspaceChanged{},
		Spent{}, Proposed{}, Reviewed{},
	} {
		types[b.kind()] = reflect.TypeOf(b)
	}
	return types
}()

// KindOf returns the name that stores and exports use for the type of a body.
func KindOf(b Body) string { return b.kind() }

// EncodeBody returns the kind of a body and its JSON as clients see it. To copy an Unreadable as it is stored, use
// EncodeStored.
func EncodeBody(b Body) (kind string, data []byte, err error) {
	// Disable HTML escaping so that the blocks of a model's message keep their bytes.
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(b); err != nil {
		return "", nil, fmt.Errorf("encode %s: %w", KindOf(b), err)
	}
	return KindOf(b), bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// EncodeStored encodes a body for code that moves a log. Unlike EncodeBody it keeps the kind
// and bytes of an Unreadable, because another version may be able to decode it.
func EncodeStored(b Body) (kind string, data []byte, err error) {
	if u, ok := b.(Unreadable); ok {
		return u.Kind, []byte(u.Raw), nil
	}
	return EncodeBody(b)
}

// ReadBody decodes a body that comes from a store. It returns an Unreadable for a body it cannot decode, so that the
// events around it stay readable.
func ReadBody(kind string, data []byte) Body {
	b, err := DecodeBody(kind, data)
	if err != nil {
		return Unreadable{Kind: kind, Reason: err.Error(), Raw: string(data)}
	}
	return b
}

// DecodeBody decodes the output of EncodeBody. It rejects kinds this version does not know: skipping them would
// misread the log.
func DecodeBody(kind string, data []byte) (Body, error) {
	known, ok := bodyTypes[kind]
	if !ok {
		return nil, fmt.Errorf("decode event: unknown kind %q; was the log written by a newer version?", kind)
	}
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) { // null would decode as an empty body
		return nil, fmt.Errorf("decode %s: the body is not a JSON object", kind)
	}
	into := reflect.New(known)
	if err := json.Unmarshal(data, into.Interface()); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	return into.Elem().Interface().(Body), nil
}
