package llmgateway

import "testing"

func TestBufferClasses(t *testing.T) {
	classes := map[int]int{} // class -> size
	for n := 1; n <= maxPooled; n++ {
		class, size := bufferClass(n)
		if size < n || n > minPooled && size-n > size/5 {
			t.Fatalf("%d bytes in a buffer of %d", n, size)
		}
		if known, ok := classes[class]; ok && known != size || class >= len(bufferPools) {
			t.Fatalf("%d bytes: class %d holds %d and %d bytes", n, class, known, size)
		}
		classes[class] = size
	}
	for class, size := range classes {
		if again, same := bufferClass(size); again != class || same != size {
			t.Errorf("a buffer of %d bytes goes from class %d to class %d of %d", size, class, again, same)
		}
	}
	if len(classes) != len(bufferPools) {
		t.Errorf("%d classes, %d pools", len(classes), len(bufferPools))
	}
}
