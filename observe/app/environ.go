package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// telemetryPackage instruments an app for Node.js without a change of its code.
const telemetryPackage = "@opentelemetry/auto-instrumentations-node"

// An Environment is what an observer adds to that of an app.
type Environment struct {
	Port       int    // which the app should listen on; 0: it chooses
	API        int    // port of the observer's API, which takes telemetry too
	Dir        string // of the app, absolute
	Instrument bool   // load instrumentation that is installed
}

// Environ returns the environment of an app: that of this process without the gateway's variables,
// and where to send telemetry. What is set already stays as it is.
func (e Environment) Environ(of []string) []string {
	env := slices.DeleteFunc(slices.Clone(of), func(v string) bool { return strings.HasPrefix(v, "BARECLAW_") })
	api := "http://127.0.0.1:" + strconv.Itoa(e.API)
	add := func(name, value string) {
		isSet := func(v string) bool { return strings.HasPrefix(v, name+"=") }
		if !slices.ContainsFunc(env, isSet) {
			env = append(env, name+"="+value)
		}
	}
	if e.Port > 0 {
		add("PORT", strconv.Itoa(e.Port))
	}
	add("PYTHONUNBUFFERED", "1") // else a line comes late, when another request is under way
	add("BRAKIT_PORT", strconv.Itoa(e.API))
	add("OTEL_EXPORTER_OTLP_ENDPOINT", api)
	add("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	add("OTEL_TRACES_EXPORTER", "otlp")
	add("OTEL_LOGS_EXPORTER", "otlp")
	add("OTEL_METRICS_EXPORTER", "none")
	add("OTEL_BSP_SCHEDULE_DELAY", "200") // milliseconds; the standard's 5,000 would be too late for a look at a request
	add("OTEL_BLRP_SCHEDULE_DELAY", "200")
	// Telemetry would wait until the clouds of others have answered that the app does not run there.
	add("OTEL_NODE_RESOURCE_DETECTORS", "env,process")
	add("OTEL_SERVICE_NAME", filepath.Base(e.Dir))
	if register := e.register(); register != "" {
		env = withNodeOption(env, "--require "+quoted(register))
	}
	return env
}

// register returns the path of what Node.js is to load before the app, which programs find that the app starts in other
// directories too; empty: nothing.
func (e Environment) register() string {
	if !e.Instrument {
		return ""
	}
	for dir := e.Dir; ; dir = filepath.Dir(dir) {
		if path := registerIn(filepath.Join(dir, "node_modules", telemetryPackage)); path != "" {
			return path
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// registerIn returns the path of the module that instruments, in the directory of its package; empty: there is none.
func registerIn(dir string) string {
	var exported struct {
		Exports map[string]json.RawMessage `json:"exports"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return ""
	}
	_ = json.Unmarshal(text, &exported) // else it exports nothing
	for _, name := range []string{required(exported.Exports["./register"]), "register.js", "build/src/register.js"} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// required returns the file that Node.js takes of an export for require: the export is a name, or has one for each condition
// (https://nodejs.org/api/packages.html#conditional-exports); empty: there is none.
func required(export json.RawMessage) string {
	var name string
	if json.Unmarshal(export, &name) == nil {
		return name
	}
	var conditions map[string]json.RawMessage
	if json.Unmarshal(export, &conditions) != nil {
		return ""
	}
	for _, condition := range []string{"node", "require", "default"} {
		if name := required(conditions[condition]); name != "" {
			return name
		}
	}
	return ""
}

// quoted returns a path as NODE_OPTIONS takes it.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// withNodeOption adds an option for Node.js, unless the app loads the same already.
func withNodeOption(env []string, option string) []string {
	const name = "NODE_OPTIONS="
	i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, name) })
	switch {
	case i < 0:
		return append(env, name+option)
	case strings.Contains(env[i], telemetryPackage):
		return env
	}
	env[i] = fmt.Sprintf("%s %s", env[i], option)
	return env
}

// PortOf returns the port that an environment names in PORT; 0: none.
func PortOf(env []string) int {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PORT="); ok {
			port, _ := strconv.Atoi(value) // 0 after an error
			return port
		}
	}
	return 0
}
