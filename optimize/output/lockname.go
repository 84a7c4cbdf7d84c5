package output

import "bytes"

// LockKind is how a lock file writes down what a package manager resolved.
type LockKind uint8

// Kinds of lock files.
const (
	NoLock        LockKind = iota
	LockOther              // a lock file whose packages nobody reads here
	LockGoSum              // go.sum
	LockNPM                // package-lock.json
	LockPNPM               // pnpm-lock.yaml
	LockYarn               // yarn.lock
	LockBun                // bun.lock, deno.lock
	LockTOML               // Cargo.lock, poetry.lock: tables with name and version
	LockJSONName           // composer.lock: objects with name and version
	LockJSONKey            // Pipfile.lock: objects under their names
	LockGem                // Gemfile.lock: indented lines
	LockMix                // mix.lock
	LockPub                // pubspec.lock
	LockGradle             // gradle.lockfile
	LockTerraform          // .terraform.lock.hcl
)

// lockNames are the files in which package managers write down what they
// resolved. Nobody reads their changes line by line.
var lockNames = map[string]LockKind{
	"go.sum": LockGoSum, "go.work.sum": LockGoSum,
	"package-lock.json": LockNPM, "npm-shrinkwrap.json": LockNPM, "pnpm-lock.yaml": LockPNPM, "yarn.lock": LockYarn, "bun.lock": LockBun, "deno.lock": LockBun,
	"Cargo.lock": LockTOML, "poetry.lock": LockTOML, "uv.lock": LockTOML, "pdm.lock": LockTOML, "pylock.toml": LockTOML,
	"composer.lock": LockJSONName, "Package.resolved": LockJSONName, "Pipfile.lock": LockJSONKey, "packages.lock.json": LockJSONKey,
	"Gemfile.lock": LockGem, "Podfile.lock": LockGem, "mix.lock": LockMix, "pubspec.lock": LockPub,
	"gradle.lockfile": LockGradle, ".terraform.lock.hcl": LockTerraform,
	"flake.lock": LockOther, "bun.lockb": LockOther, "pixi.lock": LockOther, "conan.lock": LockOther, "MODULE.bazel.lock": LockOther,
	"Cartfile.resolved": LockOther, "cabal.project.freeze": LockOther,
}

// LockKindOf says which kind of lock file the file at path is by its name.
func LockKindOf(path []byte) LockKind {
	return lockNames[string(path[bytes.LastIndexByte(path, '/')+1:])]
}

// LockFile reports whether the file at path is a lock file by its name.
func LockFile(path []byte) bool { return LockKindOf(path) != NoLock }
