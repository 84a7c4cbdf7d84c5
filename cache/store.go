package cache

import (
	"context"

	"github.com/caddy-llm-gateway/caddy-llm-gateway/cache/similar"
)

// store keeps answers. Its methods may be called by many at once, also after
// Close, when they find and keep nothing: requests outlive the configuration
// they came in under.
type store interface {
	// Get is the answer under k, nil if there is none that is good at now.
	Get(ctx context.Context, k *requestKey, now int64) *entry
	// Nearest is the answer to the question of k's partition that is nearest
	// to q and at least threshold near, and how near that is; nil if there is
	// none.
	Nearest(ctx context.Context, k *requestKey, q *similar.Question, threshold float64, now int64) (*entry, float64)
	// Put keeps it, in place of what is under its key. What it is made of
	// belongs to the store from then on.
	Put(it *item, now int64)
	// Purge removes what sel selects and returns how many entries that were.
	Purge(ctx context.Context, sel selector) (int, error)
	// Size is how many entries there are and what they take in bytes, -1 for
	// what only others know.
	Size() (entries, bytes int64)
	// Close gives back what the store holds. It may be called again.
	Close() error
}

// selector selects entries for a purge. Fields that are nil select all.
type selector struct{ tenant, namespace, model *tag }

// selects reports whether an entry with tags t is among them. A model is
// selected by the name clients use and by the provider's.
func (s *selector) selects(t *tags) bool {
	return (s.tenant == nil || *s.tenant == t.tenant) &&
		(s.namespace == nil || *s.namespace == t.namespace) &&
		(s.model == nil || *s.model == t.model || *s.model == t.upstream)
}
