package adapter

// Answer is what a response turned out to be, as far as it was read.
type Answer struct {
	Model string // as the provider names it
	ID    string
	Usage Usage

	// Choices are the choices of the answer, in the order of their first
	// appearance. Responses and Messages have one; Embeddings none.
	Choices []Choice

	// Output says that there is text or a tool call. Reasoning alone is none.
	Output bool
	// Content says that a token was seen, visible or of reasoning.
	Content bool
	// Written is the length in bytes, as encoded, of all text, reasoning and
	// tool arguments seen; for an estimate where no usage is reported.
	Written int

	ToolCalls   bool // the answer calls a tool of the client
	ServerTools bool // the provider ran a tool itself
	Refusal     bool // the model refused
	Filtered    bool // a content filter cut in
	Truncated   bool // the answer ended at a length limit
	Paused      bool // the turn is to be continued (Anthropic's pause_turn)
	Odd         bool // it finished for a reason that is not known here
	Failed      bool // an error object or event, or a status that says so

	ErrorType    string // of the error object, bounded
	ErrorMessage string // of the error object, bounded

	// Complete says that the answer is proven to be whole:
	//
	//   Chat, Completions: every choice has a finish_reason, and a stream
	//   ended with [DONE]; Messages: there is a stop_reason, and a stream ended
	//   with message_stop; Responses: the status is completed, and a stream
	//   ended with response.completed; Embeddings: there is data. All of it is
	//   valid JSON (of a stream: every event), there is no error in it and
	//   nothing behind the end.
	//
	// It is set by Meter.End only. A stream without a blank line behind its
	// last event is cut.
	Complete bool
	// Fault is why an answer can not be read to its end, FaultNone if it can.
	Fault Fault
}

// Choice is how one choice of an answer ended.
type Choice struct {
	Index  int
	Finish string // finish_reason, stop_reason or status; "" while it is open
}

// Fault says why an answer can not be read.
type Fault uint8

// Faults of an answer.
const (
	FaultNone      Fault = iota
	FaultSyntax          // not valid JSON, or an event that is not
	FaultCut             // it ends in the middle of an object or event
	FaultLate            // something follows the end of the answer
	FaultChoices         // more choices than are counted
	FaultUnmetered       // a format that has no meter
)

var faultNames = [...]string{"", "not valid JSON", "cut off", "goes on behind its end", "too many choices", "format without a meter"}

func (f Fault) String() string { return faultNames[f] }

// finishClass is what a finish reason says about an answer.
type finishClass uint8

const (
	finishOdd finishClass = iota
	finishNormal
	finishLength
	finishTools
	finishFilter
	finishRefusal
	finishPause
	finishError
)

// finishes are the finish reasons of all formats.
//
// Sources: the API references of OpenAI, Anthropic, Mistral, DeepSeek,
// OpenRouter and vLLM.
var finishes = map[string]finishClass{
	"stop":          finishNormal,
	"end_turn":      finishNormal,
	"stop_sequence": finishNormal,
	"eos":           finishNormal, // text-generation servers
	"completed":     finishNormal, // status of Responses

	"length":                        finishLength,
	"max_tokens":                    finishLength,
	"model_length":                  finishLength, // Mistral
	"max_output_tokens":             finishLength, // Responses
	"model_context_window_exceeded": finishLength, // Anthropic

	"tool_calls":    finishTools,
	"function_call": finishTools,
	"tool_use":      finishTools,

	"content_filter": finishFilter,
	"refusal":        finishRefusal,
	"pause_turn":     finishPause,
	"compaction":     finishPause, // Anthropic: the history was summarised first

	"error":                        finishError, // OpenRouter, Mistral
	"abort":                        finishError, // vLLM, SGLang
	"insufficient_system_resource": finishError, // DeepSeek
	"failed":                       finishError, // status of Responses
	"cancelled":                    finishError,
}

// finish notes that choice index finished for reason.
func (a *Answer) finish(index int, reason string) {
	switch finishes[reason] {
	case finishNormal:
	case finishLength:
		a.Truncated = true
	case finishTools:
		a.ToolCalls = true
	case finishFilter:
		a.Filtered = true
	case finishRefusal:
		a.Refusal = true
	case finishPause:
		a.Paused = true
	case finishError:
		a.Failed = true
	default:
		a.Odd = true
	}
	a.choice(index).Finish = reason
}

// maxChoices bounds how many choices are kept apart.
const maxChoices = 128

// choice is the choice number index, a new one if it was not seen before.
func (a *Answer) choice(index int) *Choice {
	for i := range a.Choices {
		if a.Choices[i].Index == index {
			return &a.Choices[i]
		}
	}
	if len(a.Choices) == maxChoices {
		a.fault(FaultChoices)
		return &Choice{}
	}
	a.Choices = append(a.Choices, Choice{Index: index})
	return &a.Choices[len(a.Choices)-1]
}

// finished reports whether there are choices and each has come to its end.
func (a *Answer) finished() bool {
	for i := range a.Choices {
		if a.Choices[i].Finish == "" {
			return false
		}
	}
	return len(a.Choices) > 0
}

// fault notes the first fault.
func (a *Answer) fault(f Fault) {
	if a.Fault == FaultNone {
		a.Fault = f
	}
}
