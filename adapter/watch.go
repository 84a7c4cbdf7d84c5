package adapter

// watch is a node of the tree of watched paths.
type watch struct {
	id   sight // what to report, 0 for nothing
	bulk bool  // what differs from event to event
	keys []watchKey
	elem *watch // every element of an array
}

type watchKey struct {
	name string
	node *watch
}

// child is the watch of the member called name, nil if there is none.
func (w *watch) child(name []byte) *watch {
	for i := range w.keys {
		if w.keys[i].name == string(name) {
			return w.keys[i].node
		}
	}
	return nil
}

// add watches path, keys with dots between them and [] behind an array.
func (w *watch) add(path string, id sight) {
	for path != "" {
		var next *watch
		if len(path) > 1 && path[:2] == "[]" {
			if w.elem == nil {
				w.elem = new(watch)
			}
			w, path = w.elem, path[2:]
			continue
		}
		if path[0] == '.' {
			path = path[1:]
		}
		n := 0
		for n < len(path) && path[n] != '.' && path[n] != '[' {
			n++
		}
		if next = w.child([]byte(path[:n])); next == nil {
			next = new(watch)
			w.keys = append(w.keys, watchKey{path[:n], next})
		}
		w, path = next, path[n:]
	}
	w.id = id
	w.bulk = id >= firstBulk && id <= lastBulk
}

// sight is what stands under a watched path.
type sight uint8

const (
	_ sight = iota
	seeID
	seeModel
	seeType
	seeStatus
	seeReason
	seeChoices
	seeChoice
	seeIndex
	seeFinish
	seeText      // visible text
	seeTextAgain // visible text that was seen in pieces before
	seeThought   // reasoning
	seeArguments // of a tool call
	seePiece     // of a call's arguments, whoever runs the tool
	seeRefusal
	seeDelta  // text of a kind that the event's type tells
	seeMedia  // audio or an image, if it is not null
	seeCall   // a tool call, if it is not null
	seeServed // something a server tool left, if it is not null
	seeItem   // the type of an output item or content block
	seeError
	seeErrorType
	seeErrorMessage
	seeUsage
	seeCounter // counter 0, and behind it the others
)

// Text is what differs from event to event.
const firstBulk, lastBulk = seeText, seeDelta

// watching builds the tree of what is watched from paths.
func watching(tables ...map[string]sight) *watch {
	root := new(watch)
	for _, paths := range tables {
		for path, id := range paths {
			root.add(path, id)
		}
	}
	return root
}

// below is paths with prefix before each.
func below(prefix string, paths map[string]sight) map[string]sight {
	out := make(map[string]sight, len(paths))
	for path, id := range paths {
		out[prefix+path] = id
	}
	return out
}

// errorSights are the members of an error object, whose member is an object
// or a string.
var errorSights = map[string]sight{
	"error":         seeError,
	"error.type":    seeErrorType,
	"error.message": seeErrorMessage,
}
