// Package adapter knows what the requests and responses of the LLM wire
// formats look like: where the model, the texts and the tool results of a
// request stand, and what proves a response complete. It knows nothing of
// servers, and it never changes a byte: whoever wants a change makes it as a
// span edit (see jsonspan).
package adapter

import "github.com/caddy-llm-gateway/caddy-llm-gateway/internal/jsonspan"

// Format is a wire format.
type Format uint8

// Wire formats.
const (
	Unknown     Format = iota
	Chat               // OpenAI chat completions, POST .../chat/completions
	Responses          // OpenAI responses, POST .../responses
	Messages           // Anthropic messages, POST .../messages
	Completions        // OpenAI text completions, POST .../completions
	Embeddings         // OpenAI embeddings, POST .../embeddings

	maxFormats = 16 // room for formats that their own file adds
)

// ModelState says what stands under the model key.
type ModelState uint8

// States of the model key. A key that differs from "model" in letter case
// only counts as a second one, because some servers read it as the same.
const (
	ModelAbsent    ModelState = iota
	ModelUnique               // one key, its value is a string
	ModelDuplicate            // more than one key: nobody can say which one counts
	ModelNotString            // one key, its value is not a string
)

// Role says who speaks in a message.
type Role uint8

// Roles. A Responses item that is no message has the role of whoever made it:
// a call and a reasoning item are the assistant's, an output the tool's.
const (
	NoRole Role = iota
	System      // system and developer
	User
	Assistant
	Tool
)

// BlockKind is what a block's text is.
type BlockKind uint8

// Kinds of blocks.
const (
	SystemText    BlockKind = iota + 1 // system or developer prompt, instructions
	UserText                           // what the user typed (or pasted)
	AssistantText                      // what the model answered
	Reasoning                          // reasoning_content, thinking, summaries
	ToolResult                         // text a tool returned
	ToolArguments                      // arguments of a call, itself JSON in a string
)

// Block is one JSON string of a request that holds text of the conversation.
type Block struct {
	Kind    BlockKind
	Message int          // index into Request.Messages, -1 outside of them (top-level system or instructions)
	Node    jsonspan.Ref // the string
	Call    int          // for ToolResult and ToolArguments: index into Request.Calls, -1 if the call is not in the request or not certain; -1 for other kinds
	IsError bool         // the tool result is flagged as an error (Anthropic is_error, Responses status "incomplete"/"failed")
	// Frozen says that the text must go back exactly as received: signed
	// thinking, encrypted or redacted reasoning, text that citations point
	// into, and everything in a content part of a type that is not known.
	Frozen bool
}

// Message is one element of messages (Chat, Messages) or input (Responses; an
// item that is not a message counts as one).
type Message struct {
	Node jsonspan.Ref
	Role Role
	// Type is the item's type in Responses: "message" if absent, OtherType if
	// this package does not know it. In the other formats it is "".
	Type    string
	Calls   int // number of tool calls it holds
	Results int // number of tool results it holds
	// Blocks[First:End] of the request are this message's.
	First, End int
}

// OtherType is the Type of an item whose type is not known.
const OtherType = "other"

// Call is one tool call of the assistant that the client answers. Calls that
// the provider runs itself (server_tool_use, mcp_call, web_search_call, ...)
// are not among them.
type Call struct {
	Message   int          // index into Request.Messages
	ID        jsonspan.Ref // string, None for a legacy function_call
	Name      jsonspan.Ref // string, None for built-in calls without a name
	Type      string       // "function" (Chat, Responses), "custom" (Chat), "tool_use" (Messages), else the item's type: "custom_tool_call", "local_shell_call", "shell_call", ...
	Arguments jsonspan.Ref // Chat, Responses: a string that holds JSON, or of a custom tool free text; Messages and built-in calls: an object; None if absent
	Results   int          // number of results in the request that answer it
	// Programmatic says that code which the provider runs made the call, not
	// the model: its results are data for that code, and frozen.
	Programmatic bool
}

// Result is one tool result, whether or not it holds text.
type Result struct {
	Message int          // index into Request.Messages
	Call    int          // index into Request.Calls, -1 as in Block
	Node    jsonspan.Ref // the message, item or part
	IsError bool
	Frozen  bool // all of its blocks are frozen
	// Blocks[First:End] of the request are this result's.
	First, End int
}

// Request is the view of one request body. The zero value is ready for use;
// Parse overwrites it and keeps its memory, so it can be pooled.
type Request struct {
	Format Format
	Doc    jsonspan.Doc
	Root   jsonspan.Ref

	// Model and ModelState are right whenever the body is a JSON object, even
	// when Parse returns an error because of the rest.
	Model      jsonspan.Ref // the string, None unless ModelState is ModelUnique
	ModelState ModelState

	Stream   bool
	System   jsonspan.Ref // Messages: system; Responses: instructions; None if absent
	List     jsonspan.Ref // the array messages or input; None if absent, null or not an array
	Tools    jsonspan.Ref // tools, None if absent
	Schema   bool         // structured output is demanded (response_format, text.format, output_format, forced tool choice does not count)
	Messages []Message
	Blocks   []Block  // in prompt order, which is not always the order in the body
	Calls    []Call   // in prompt order
	Results  []Result // in prompt order

	members fields // of the root
	ids     idTable
	args    argTable
	text    []byte // scratch for decoded ids
}
