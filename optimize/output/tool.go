package output

// Tool is the program that produced an output, as far as it matters for
// reading it. Programs that write alike share a Tool.
type Tool uint8

// Tools.
const (
	NoTool     Tool = iota // not known
	GoTest                 // go test, gotestsum
	GoBuild                // go build, vet, install
	Pytest                 // pytest, and unittest reports
	Cargo                  // cargo build, check, clippy, test; rustc
	JSTest                 // jest, vitest, mocha, playwright, node --test, ...
	PHPUnit                // phpunit, pest
	RubyTest               // rspec, minitest
	ExUnit                 // mix test
	JVM                    // maven, gradle, sbt, JUnit
	Dotnet                 // dotnet test and build
	TypeScript             // tsc
	Lint                   // linters and type checkers: every line is a finding
	CC                     // gcc, clang and their kin
	Make                   // make, ninja, cmake, scripts of package.json: runs other programs
	Packages               // npm, pip, apt, cargo fetch: installs
	Docker                 // docker, podman
	Kubectl                // kubectl, helm, oc
	Terraform              // terraform, tofu
	Ansible                // ansible-playbook
	Git                    // git
	Files                  // ls, find, tree, du
	Search                 // grep, rg, ag
	Fetch                  // curl, wget: whatever the server sent
	tools
)

var toolNames = [tools]string{
	"", "go test", "go build", "pytest", "cargo", "javascript tests", "phpunit", "ruby tests", "exunit", "jvm",
	"dotnet", "tsc", "linter", "c compiler", "make", "package manager", "docker", "kubectl", "terraform", "ansible",
	"git", "files", "search", "fetch",
}

// String is the name of t as it stands in reports, "" for NoTool.
func (t Tool) String() string {
	if t >= tools {
		return ""
	}
	return toolNames[t]
}
