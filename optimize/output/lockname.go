package output

import "bytes"

// lockNames are the files in which package managers write down what they
// resolved. Nobody reads their changes line by line.
var lockNames = map[string]bool{
	"package-lock.json": true, "npm-shrinkwrap.json": true, "yarn.lock": true, "pnpm-lock.yaml": true, "bun.lock": true, "bun.lockb": true, "deno.lock": true,
	"go.sum": true, "go.work.sum": true, "Cargo.lock": true, "poetry.lock": true, "uv.lock": true, "pdm.lock": true, "Pipfile.lock": true, "pixi.lock": true,
	"Gemfile.lock": true, "composer.lock": true, "mix.lock": true, "pubspec.lock": true, "Podfile.lock": true, "Package.resolved": true, "flake.lock": true,
	"gradle.lockfile": true, "packages.lock.json": true, "conan.lock": true, "MODULE.bazel.lock": true, ".terraform.lock.hcl": true,
}

// LockFile reports whether the file at path is a lock file by its name.
func LockFile(path []byte) bool {
	if i := bytes.LastIndexByte(path, '/'); i >= 0 {
		path = path[i+1:]
	}
	return lockNames[string(path)]
}
