package cache

// Reason says why the cache was passed by or why an answer was not stored.
// There are few of them, and none holds anything of a request, so they serve
// as labels of metrics and as the detail of Cache-Status.
type Reason uint8

// Why a request passes the cache by.
const (
	None             Reason = iota
	ModeOff                 // no cache is configured for it
	ByClient                // the client said so
	BadDirective            // the client said something that was not understood
	NoFormat                // not an endpoint whose answers can be proven complete
	NoObject                // the body is not a JSON object
	DuplicateKeys           // an object has the same key twice
	NotDeterministic        // deterministic_only, and the temperature is not 0
	Stateful                // it refers to what an earlier request left with the provider
	Stores                  // the provider is asked to keep the answer
	Background              // the provider is asked to answer later
	ServerTools             // the provider runs tools for it

	// Why an answer is not stored.

	NotOK         // the status is not 200
	OtherForm     // JSON was asked for and an event stream came, or the reverse; or it is encoded
	Forbidden     // the provider's Cache-Control says no-store
	Incomplete    // nothing proves that it is whole
	ErrorInside   // it holds an error
	Empty         // it holds nothing
	CutShort      // the model stopped at a limit of length
	Refused       // a filter or the model refused
	Paused        // the provider expects the turn to go on
	UnknownFinish // it ended for a reason that is not known
	CallsTools    // it calls a tool, and tool_calls is off
	TooLarge      // it is larger than max_entry
	NoMemory      // too many answers are being recorded
	Aborted       // the client or the provider went away
	Purged        // it was on its way when entries were purged
	reasonCount
)

var reasonNames = [reasonCount]string{
	None:             "none",
	ModeOff:          "off",
	ByClient:         "client",
	BadDirective:     "bad-directive",
	NoFormat:         "format",
	NoObject:         "not-an-object",
	DuplicateKeys:    "duplicate-keys",
	NotDeterministic: "not-deterministic",
	Stateful:         "stateful",
	Stores:           "store",
	Background:       "background",
	ServerTools:      "server-tools",
	NotOK:            "status",
	OtherForm:        "other-form",
	Forbidden:        "no-store",
	Incomplete:       "incomplete",
	ErrorInside:      "error",
	Empty:            "empty",
	CutShort:         "length",
	Refused:          "refused",
	Paused:           "paused",
	UnknownFinish:    "unknown-finish",
	CallsTools:       "tool-calls",
	TooLarge:         "too-large",
	NoMemory:         "memory",
	Aborted:          "aborted",
	Purged:           "purged",
}

// String is the reason as it stands in Cache-Status and in metrics, an RFC
// 8941 token.
func (r Reason) String() string { return reasonNames[r] }
