package footnote

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// KindOf returns the name that stores and exports use for the type of a body.
//
//gocyclo:ignore
func KindOf(b Body) string {
	switch b.(type) {
	case Opened:
		return "opened"
	case UserMessage:
		return "user_message"
	case Imported:
		return "imported"
	case AssistantMessage:
		return "assistant_message"
	case ToolResult:
		return "tool_result"
	case ApprovalAsked:
		return "approval_asked"
	case ApprovalGiven:
		return "approval_given"
	case RunStarted:
		return "run_started"
	case RunParked:
		return "run_parked"
	case RunResumed:
		return "run_resumed"
	case RunFinished:
		return "run_finished"
	case RunFailed:
		return "run_failed"
	case RunStopped:
		return "run_stopped"
	case StepFailed:
		return "step_failed"
	case Segmented:
		return "segmented"
	case Rewound:
		return "rewound"
	case Answered:
		return "answered"
	case Titled:
		return "titled"
	case Feedback:
		return "feedback"
	case QueryRun:
		return "query_run"
	case DrawingChanged:
		return "drawing_changed"
	case WorkspaceChanged:
		return "workspace_changed"
	case Spent:
		return "spent"
	case Unreadable:
		return "unreadable"
	default:
		panic(fmt.Sprintf("footnote: body type %T has no kind", b)) // a programmer's mistake
	}
}

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
//
//gocyclo:ignore
func DecodeBody(kind string, data []byte) (Body, error) {
	switch kind {
	case "opened":
		return decode[Opened](kind, data)
	case "user_message":
		return decode[UserMessage](kind, data)
	case "imported":
		return decode[Imported](kind, data)
	case "assistant_message":
		return decode[AssistantMessage](kind, data)
	case "tool_result":
		return decode[ToolResult](kind, data)
	case "approval_asked":
		return decode[ApprovalAsked](kind, data)
	case "approval_given":
		return decode[ApprovalGiven](kind, data)
	case "run_started":
		return decode[RunStarted](kind, data)
	case "run_parked":
		return decode[RunParked](kind, data)
	case "run_resumed":
		return decode[RunResumed](kind, data)
	case "run_finished":
		return decode[RunFinished](kind, data)
	case "run_failed":
		return decode[RunFailed](kind, data)
	case "run_stopped":
		return decode[RunStopped](kind, data)
	case "step_failed":
		return decode[StepFailed](kind, data)
	case "segmented":
		return decode[Segmented](kind, data)
	case "rewound":
		return decode[Rewound](kind, data)
	case "answered":
		return decode[Answered](kind, data)
	case "titled":
		return decode[Titled](kind, data)
	case "feedback":
		return decode[Feedback](kind, data)
	case "query_run":
		return decode[QueryRun](kind, data)
	case "drawing_changed":
		return decode[DrawingChanged](kind, data)
	case "workspace_changed":
		return decode[WorkspaceChanged](kind, data)
	case "spent":
		return decode[Spent](kind, data)
	default:
		return nil, fmt.Errorf("decode event: unknown kind %q; was the log written by a newer version?", kind)
	}
}

func decode[B Body](kind string, data []byte) (Body, error) {
	var b B
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return nil, fmt.Errorf("decode %s: the body is not a JSON object", kind) // null would decode as an empty body
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	return b, nil
}
