package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/internal/schema"
)

func jsons(texts ...string) (out []json.RawMessage) {
	for _, text := range texts {
		out = append(out, json.RawMessage(text))
	}
	return out
}

// use checks that a database works as a store.
func use(t *testing.T, target string) {
	t.Helper()
	s := openAt(t, target, Options{})
	ctx := t.Context()
	id := fmt.Sprint(time.Now().UnixNano())
	_, err := s.CreateAppend(ctx, conversation(id), store.Append{Bodies: say("x")})
	must(t, err)
	if words := texts(t, s, id); len(words) != 1 {
		t.Fatalf("read %q", words)
	}
}

// TestMigrateTogether opens an empty database from many processes at once.
func TestMigrateTogether(t *testing.T) {
	target := pgtest.Database(t)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if _, to, err := Migrate(t.Context(), target); err != nil || to < 1 {
				t.Errorf("to %d: %v", to, err)
			}
		})
	}
	wg.Wait()
	use(t, target)
	state, err := Inspect(t.Context(), target)
	if err != nil || state.Have != state.Want || len(state.Warnings) > 0 {
		t.Errorf("state: %+v, %v", state, err)
	}
}

// TestMigrateKilled breaks the connection after each statement of a migration, as a killed process does. The next
// process must find the database as it was before the migration.
func TestMigrateKilled(t *testing.T) {
	target := pgtest.Database(t)
	scripts, err := schema.Scripts(migrationFiles)
	must(t, err)
	statements := split(scripts[0])
	if len(statements) < 10 {
		t.Fatalf("%d statements", len(statements))
	}
	for k := range len(statements) + 1 {
		conn, err := dial(t.Context(), target)
		must(t, err)
		tx, err := conn.Begin(t.Context())
		must(t, err)
		var v int
		script, err := begin(t.Context(), tx, []string{strings.Join(statements[:k], ";\n")}, &v)
		must(t, err)
		if v != 0 {
			t.Fatalf("after %d statements there is version %d", k, v)
		}
		if _, err := conn.PgConn().Exec(t.Context(), script).ReadAll(); err != nil {
			t.Fatalf("statement %d: %v", k, err)
		}
		must(t, conn.PgConn().Conn().Close()) // without a message to the server
	}
	use(t, target)
}

// split splits a script into its statements. It expects dollar quotes on lines of their own.
func split(script string) (statements []string) {
	var one strings.Builder
	quoted := false
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "--") {
			continue
		}
		one.WriteString(line)
		quoted = quoted != (strings.Count(line, "$$")%2 == 1)
		if code, _, _ := strings.Cut(line, "--"); !quoted && strings.HasSuffix(strings.TrimSpace(code), ";") {
			statements = append(statements, strings.TrimSuffix(strings.TrimSpace(one.String()), ";"))
			one.Reset()
		}
	}
	return statements
}

// testMigrateServerDies kills the server during a migration.
func testMigrateServerDies(t *testing.T, server *pgtest.Server) {
	target := server.Database(t)
	for i := range 2 {
		done := make(chan error, 1)
		go func() { _, _, err := Migrate(context.Background(), target); done <- err }()
		time.Sleep(time.Duration(i*30) * time.Millisecond) // any moment of the migration
		server.Kill(t)
		if err := <-done; err != nil && footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Errorf("migrate: %v", err)
		}
		server.Start(t)
	}
	use(t, target)
}

// TestRefusedDatabases checks that Open rejects databases of other programs and versions.
func TestRefusedDatabases(t *testing.T) {
	for name, c := range map[string]struct{ sql, want string }{
		"newer": {"UPDATE footnote.migrations SET version = version + 98", "newer version"},
		"foreign": {
			"DROP SCHEMA footnote CASCADE; CREATE SCHEMA footnote; CREATE TABLE footnote.songs (title text)",
			"another program",
		},
		"lost": {"DROP TABLE footnote.events CASCADE", "lacks"},
	} {
		t.Run(name, func(t *testing.T) {
			target := pgtest.Database(t)
			_, _, err := Migrate(t.Context(), target)
			must(t, err)
			conn, err := pgx.Connect(t.Context(), target)
			must(t, err)
			defer conn.Close(t.Context())
			_, err = conn.PgConn().Exec(t.Context(), c.sql).ReadAll()
			must(t, err)
			s, err := Open(t.Context(), target, Options{})
			if err == nil {
				defer s.Close()
				_, err = s.Tail(t.Context(), 0, 1)
			}
			if footnote.CodeOf(err) != footnote.StorageUnavailable ||
				!strings.Contains(footnote.MessageOf(err), c.want) {
				t.Errorf("open: %v", err)
			}
		})
	}
	_, err := OpenReader(t.Context(), pgtest.Database(t))
	if footnote.CodeOf(err) != footnote.StorageUnavailable ||
		!strings.Contains(footnote.MessageOf(err), "footnote migrate") {
		t.Errorf("a reader of an empty database: %v", err)
	}
}

// TestOwnSchema uses a role that may create tables only in a schema that an administrator created for it.
func TestOwnSchema(t *testing.T) {
	target := pgtest.Database(t)
	conn, err := pgx.Connect(t.Context(), target)
	must(t, err)
	defer conn.Close(t.Context())
	_, err = conn.PgConn().Exec(t.Context(),
		`DO $$ BEGIN CREATE ROLE small LOGIN; EXCEPTION WHEN duplicate_object THEN END $$;
		CREATE SCHEMA footnote AUTHORIZATION small`).ReadAll()
	must(t, err)
	use(t, strings.Replace(target, "footnote@", "small@", 1))
}
