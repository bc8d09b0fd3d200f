package capture

import (
	"strings"
	"testing"
)

func TestShape(t *testing.T) {
	t.Parallel()
	cases := []struct {
		text     string
		want     string
		literals bool
	}{
		{"SELECT * FROM users WHERE id = 1", "select * from users where id = ?", true},
		{"select *\n from Users  where id=$1;", "select * from users where id = ?", false},
		{"SELECT * FROM users WHERE id = ?", "select * from users where id = ?", false},
		{"SELECT * FROM users WHERE id = :id AND x = @p1 AND y = %s AND z = %(z)s", "select * from users where id = ? and x = ? and y = ? and z = ?", false},
		{"SELECT a FROM t WHERE id IN (1, 2,3)", "select a from t where id in (?)", true},
		{"SELECT a FROM t WHERE id IN ($1,$2)", "select a from t where id in (?)", false},
		{"SELECT a FROM t WHERE id IN ( 'x' )", "select a from t where id in (?)", true},
		{"INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y'), (3, 'it''s')", "insert into t(a, b) values (?)", true},
		{"INSERT INTO t (a, b) VALUES ($1, $2)", "insert into t(a, b) values (?)", false},
		{`SELECT "Id" FROM "User" WHERE "Id" = 'a'`, `select "Id" from "User" where "Id" = ?`, true},
		{"SELECT `Id` FROM `User`", "select `Id` from `User`", false},
		{"SELECT [Id] FROM [dbo].[User]", "select [Id] from [dbo].[User]", false},
		{"SELECT a[1] FROM t", "select a [?] from t", true},
		{"SELECT 1 -- one\n, /* two /* deep */ */ a", "select ?, a", true},
		{"/*traceparent='00-1-2-01'*/ SELECT a FROM t /*app='x'*/", "select a from t", false},
		{"SELECT -5, a - 5, 1.5e-3, 0xFF", "select ?, a - ?", true},
		{"SELECT E'a\\'b', $$c'd$$, $t$e$t$, N'f'", "select ?", true},
		{"SELECT a::text FROM t WHERE b::int = 5", "select a::text from t where b::int = ?", true},
		{"SELECT count(*) FROM t LIMIT 5 OFFSET 10", "select count(*) from t limit ? offset ?", true},
		{`{"find":"users","filter":{"_id":"abc"},"limit":1}`, `{"find":"users","filter":{"_id":?},"limit":?}`, true},
		{"SELECT 'open", "select ?", true},
		{"SELECT * FROM logs_2024", "select * from logs_2024", false},
		{"", "", false},
	}
	for _, c := range cases {
		got, literals := Shape(c.text)
		if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(c.want, " ", "") || literals != c.literals {
			t.Errorf("%s\nhas the shape %s, %v\nwant          %s", c.text, got, literals, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"SELECT * FROM Users u WHERE 1=1":                "users",
		`select "a" from "public"."User"`:                "public.User",
		"SELECT * FROM `shop`.`orders`":                  "shop.orders",
		"INSERT INTO logs_2024 (a) VALUES (1)":           "logs_2024",
		"UPDATE ONLY accounts SET a = 1":                 "accounts",
		"DELETE FROM sessions":                           "sessions",
		"SELECT EXTRACT(year FROM created) FROM events":  "events",
		"SELECT * FROM (SELECT * FROM inner_t) x":        "inner_t",
		"WITH x AS (SELECT 1 FROM base) SELECT * FROM x": "base",
		"CREATE TABLE IF NOT EXISTS notes (id int)":      "notes",
		"SELECT 1":               "",
		"SELECT 'from x'":        "",
		"SELECT now() -- from x": "",
		"SELECT * FROM":          "",
		"BEGIN":                  "",
	}
	for text, want := range cases {
		if got := Table(text); got != want {
			t.Errorf("%s names %q, want %q", text, got, want)
		}
	}
}

func TestMaskQuery(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"SELECT * FROM users WHERE password = 'hunter22' AND id = 7":                   "SELECT * FROM users WHERE password = '[masked:8]' AND id = 7",
		"INSERT INTO users (email, password) VALUES ('a@b', 'hunter22'), ('c', 'd e')": "INSERT INTO users (email, password) VALUES ('a@b', '[masked:8]'), ('c', '[masked:3]')",
		"INSERT INTO users (email, password) VALUES ($1, $2)":                          "INSERT INTO users (email, password) VALUES ($1, $2)",
		"SELECT * FROM users WHERE password = $1":                                      "SELECT * FROM users WHERE password = $1",
		"SELECT * FROM users WHERE token = ?":                                          "SELECT * FROM users WHERE token = ?",
		"UPDATE users SET name = 'x', api_key = 'abc' WHERE id = 1":                    "UPDATE users SET name = 'x', api_key = '[masked:3]' WHERE id = 1",
		`UPDATE "users" SET "api_key" = E'a''b'`:                                       `UPDATE "users" SET "api_key" = '[masked:4]'`,
		"SELECT * FROM t WHERE token IN ('abc', 'de')":                                 "SELECT * FROM t WHERE token IN ('[masked:3]', '[masked:2]')",
		"SELECT * FROM t WHERE a.password <> 'abc' OR b LIKE 'x'":                      "SELECT * FROM t WHERE a.password <> '[masked:3]' OR b LIKE 'x'",
		"SELECT * FROM u WHERE password = crypt('hunter', password) AND a = 'x'":       "SELECT * FROM u WHERE password = crypt('[masked:6]', password) AND a = 'x'",
		"SELECT * FROM u WHERE lower(password)=lower('abc') AND lower(a)=lower('x')":   "SELECT * FROM u WHERE lower(password)=lower('[masked:3]') AND lower(a)=lower('x')",
		"CREATE USER 'ann'@'%' IDENTIFIED BY 'abc'":                                    "CREATE USER 'ann'@'%' IDENTIFIED BY '[masked:3]'",
		"CREATE USER ann IDENTIFIED BY abc":                                            "CREATE USER ann IDENTIFIED BY '[masked:3]'",
		"ALTER USER a IDENTIFIED WITH mysql_native_password BY 'abc'":                  "ALTER USER a IDENTIFIED WITH mysql_native_password BY '[masked:3]'",
		"SET PASSWORD FOR 'u' = PASSWORD('abc')":                                       "SET PASSWORD FOR '[masked:1]' = PASSWORD('[masked:3]')",
		"CREATE ROLE a LOGIN ENCRYPTED PASSWORD 'abc' VALID UNTIL '2030-01-01'":        "CREATE ROLE a LOGIN ENCRYPTED PASSWORD '[masked:3]' VALID UNTIL '2030-01-01'",
		"UPDATE u SET password_hash = 'abc', name = 'x' WHERE id = 5":                  "UPDATE u SET password_hash = '[masked:3]', name = 'x' WHERE id = 5",
		"INSERT INTO u (email, password) SELECT 'a@b', 'abc'":                          "INSERT INTO u (email, password) SELECT '[masked:3]', '[masked:3]'",
		`INSERT INTO u (email, password) VALUES ("a@b", "abc")`:                        `INSERT INTO u (email, password) VALUES ("a@b", "[masked:3]")`,
		"INSERT INTO u (email, password) VALUES ('a', crypt('abc', gen_salt('bf')))":   "INSERT INTO u (email, password) VALUES ('a', crypt('[masked:3]', gen_salt('[masked:2]')))",
		"SELECT 1 FROM u WHERE 'abc' = password LIMIT 10":                              "SELECT 1 FROM u WHERE '[masked:3]' = password LIMIT 10",
		"SELECT crypt('abc', x)":                                                       "SELECT crypt('[masked:3]', x)",
		"SELECT id, password FROM u WHERE name = 'x' AND created > now() - '1 day'":    "SELECT id, password FROM u WHERE name = 'x' AND created > now() - '1 day'",
		"/* token=abc */ SELECT 'x' -- password: abc":                                  "/* token=[masked:3] */ SELECT 'x' -- password: [masked:3]",
		`UPDATE u SET data = '{"password":"abc"}'`:                                     `UPDATE u SET data = '{"password":"[masked:3]"}'`,
		"UPDATE usage SET prompt_tokens = 17, max_tokens = 4096 WHERE model = 'x'":     "UPDATE usage SET prompt_tokens = 17, max_tokens = 4096 WHERE model = 'x'",
		"UPDATE u SET otp = 123456":                                                    "UPDATE u SET otp = '[masked:6]'",
		"AUTH ann abc":                                                                 "AUTH [masked:7]",
		"HELLO 3 AUTH ann abc":                                                         "HELLO 3 AUTH [masked:7]",
		"CONFIG SET requirepass abc":                                                   "CONFIG SET requirepass [masked:3]",
		"HSET user:1 name ann password abc":                                            "HSET user:1 name ann password [masked:3]",
		"GET sess:abc":                                                                 "GET sess:[masked:3]",
		"GET user:1":                                                                   "GET user:1",
		`db.users.find({email: "a", password: "abc"})`:                                 `db.users.find({email: "a", password: "[masked:3]"})`,
		`{"find":"users","filter":{"password":"abc"}}`:                                 `{"find":"users","filter":{"password":"[masked:3]"}}`,
		`{find: 'users', filter: {password: 'abc'}}`:                                   `{find: 'users', filter: {password: '[masked:3]'}}`,
		"ALTER USER ann WITH PASSWORD 'abc'":                                           "ALTER USER ann WITH PASSWORD '[masked:3]'",
	}
	for text, want := range cases {
		got := MaskQuery(text)
		if got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", text, got, want)
		}
		if again := MaskQuery(got); again != got {
			t.Errorf("%s\nbecomes again %s", got, again)
		}
	}
}

func FuzzShape(f *testing.F) {
	f.Add("SELECT a FROM t WHERE id IN ('x', $1, 2) -- c")
	f.Add("$a$'\"`[%(:?/*")
	f.Add("INSERT INTO t (a, password) VALUES ('x', E'y\\'')")
	f.Fuzz(func(t *testing.T, text string) {
		shape, literals := Shape(text)
		if len(shape) > 3*len(text)+16 {
			t.Errorf("%q has the shape %q", text, shape)
		}
		if _, again := Shape(shape); again && !literals && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz =") == "" {
			t.Errorf("%q has no literals, its shape %q has", text, shape)
		}
		_ = Table(text)
		masked := MaskQuery(text)
		if again := MaskQuery(masked); again != masked {
			t.Errorf("%q becomes %q, and then %q", text, masked, again)
		}
	})
}
