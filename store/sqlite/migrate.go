package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store/internal/schema"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// applicationID marks the file as Footnote's in SQLite's header: "Foot".
const applicationID = 0x466f6f74

// migrate migrates a file to the newest version, each step in its own transaction. It returns an error for a file of a
// newer version or of another program.
func migrate(ctx context.Context, conn *sql.Conn) error {
	scripts, err := schema.Scripts(migrationFiles)
	if err != nil {
		return err
	}
	version, err := versionOf(ctx, conn)
	if err != nil {
		return err
	}
	if err := schema.Check(version, len(scripts)); err != nil {
		return err
	}
	for ; version < len(scripts); version++ {
		script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA user_version = %d;\nPRAGMA application_id = %d;\nCOMMIT;",
			scripts[version], version+1, applicationID)
		if _, err := conn.ExecContext(ctx, script); err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return fmt.Errorf("migrate to version %d: %w", version+1, err)
		}
	}
	return nil
}

// versionOf reads the version of a file, 0 for a new one. It returns an error for a file of another program.
func versionOf(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int, err error) {
	var app, tables int
	err = db.QueryRowContext(ctx, `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version, pragma_application_id`).Scan(&version, &app, &tables)
	if err == nil && app != applicationID && (version != 0 || app != 0 || tables != 0) {
		return 0, footnote.Errorf(footnote.StorageUnavailable, "The data file belongs to another program.")
	}
	return version, err
}
