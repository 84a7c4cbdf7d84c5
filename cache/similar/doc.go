// Package similar finds, among the questions a cache has answered, the one that
// asks the same thing in slightly other words.
package similar
