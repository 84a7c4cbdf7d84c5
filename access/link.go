package access

import (
	"errors"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

// A server that did not answer is left alone for this long. Otherwise each
// request would wait for its silence.
const awayFor = time.Second

// link is the connection to a server that may not be there yet. It is made by
// the requests that need it, in the background.
type link struct {
	connect func() (valkey.Client, error)

	mu      sync.Mutex
	client  valkey.Client // nil until a connection was made
	dialing bool
	closed  bool
	err     error     // why the server counts as away
	until   time.Time // for how long it does
}

var errClosed = errors.New("closed")

// get returns the client, or why there is none at now.
func (l *link) get(now time.Time) (valkey.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, errClosed
	case l.err != nil && now.Before(l.until), l.dialing:
		return nil, l.err
	case l.client == nil:
		l.dialing = true
		l.until = now.Add(awayFor)
		go l.dial()
		return nil, l.err
	}
	return l.client, nil
}

// dial makes the connection, or notes why it could not.
func (l *link) dial() {
	client, err := l.connect()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dialing = false
	switch {
	case err != nil:
		l.err = err
	case l.closed:
		client.Close()
	default:
		l.client, l.err = client, nil
	}
}

// report notes how a call at now went.
func (l *link) report(err error, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err, l.until = err, now.Add(awayFor)
}

// close closes the connection; there is no other afterwards.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.client != nil {
		l.client.Close()
	}
}
