package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/joho/godotenv"
)

// DotEnvFiles returns the paths of the files that [Load] reads, in the order in
// which they win: .env of the working directory, then that of the user's
// configuration, unless it is not known where that is.
func DotEnvFiles() ([]string, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	return dotEnvFiles(cwd), nil
}

// ReadDotEnv returns what one file sets; nothing where there is none. The error is a
// [*Problem] and shows nothing of the content.
func ReadDotEnv(file string) (map[string]string, error) { return readDotEnv(file) }

// ParseDotEnv returns what the text of a .env sets, as [Load] reads it, and false if
// it cannot be understood.
func ParseDotEnv(text []byte) (vars map[string]string, ok bool) {
	vars, err := godotenv.UnmarshalBytes(normal(text))
	return vars, err == nil
}

// normal is a text with Unix line ends and a last one, without which godotenv takes a
// lone word for a value.
func normal(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors' byte order mark
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return append(text, '\n')
}

// Check returns what is wrong with a value of one variable, a [*Problem], nil if
// nothing is. Only [Load] says what is wrong with it in the company of others.
func Check(name, value string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	env := environment{HTTPToken: "any", AllowedUsers: "1"} // what others ask for
	t := reflect.TypeFor[environment]()
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("envconfig") == name {
			reflect.ValueOf(&env).Elem().Field(i).SetString(value)
		}
	}
	var p problems
	env.resolve(machineAt(cwd), &p)
	for _, err := range p {
		if problem, ok := errors.AsType[*Problem](err); ok && problem.Source == name {
			return problem
		}
	}
	return nil
}

// UserDirs returns [Config.UserDir] and [Config.ConfigDir], which depend on the
// environment's HOME and XDG directories alone.
func UserDirs() (state, config string, err error) {
	m := machineAt("")
	state, err = m.stateDir()
	return state, cmp.Or(m.configDir, state), err
}

// DefaultOf returns what a variable is when it is not set, as it would be written.
func DefaultOf(name string) string {
	for _, v := range Variables() {
		if v.Name == name {
			return v.Default
		}
	}
	return ""
}
