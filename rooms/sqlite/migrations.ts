import { RoomtapError } from "../../core/index.ts";
import type { SqliteDatabase } from "./database.ts";

/**
 * The steps from an empty file to the present schema, in order; `user_version` counts those that were taken. A step
 * that was released is never changed: a new one is added behind it.
 *
 * `log` has a rowid and no more indexes than its rules need, because each index is a page more that an append writes.
 * `rooms` keeps what an append must know of a room and could otherwise learn only by reading all its rows; `head_seq`, the
 * number of the last row, tells whoever verifies the log that rows are gone from its end. `leases` is apart from it, because an append only reads its lease: a renewal writes few pages, an append none for it.
 *
 * `sessions` holds a session as two texts: `summary` is what lists show, and a list never reads the pages of `work` behind
 * it, where prompts wait. Its other columns are what is searched, ordered and counted.
 *
 * `named_values` has the size of each row checked by the table; its second index has it beside the keys, so that a namespace is
 * counted without a look at its values.
 */
const steps: readonly string[] = [
  `
  CREATE TABLE rooms (
    room_id     TEXT    NOT NULL PRIMARY KEY CHECK (room_id <> ''),
    name        TEXT    NOT NULL,
    revision    INTEGER NOT NULL CHECK (revision >= 1),
    created_at  INTEGER NOT NULL,
    next_number INTEGER NOT NULL DEFAULT 1 CHECK (next_number >= 1),
    log_bytes   INTEGER NOT NULL DEFAULT 0 CHECK (log_bytes >= 0),
    open_turns  INTEGER NOT NULL DEFAULT 0 CHECK (open_turns >= 0),
    inbox_posts INTEGER NOT NULL DEFAULT 0 CHECK (inbox_posts >= 0),
    inbox_bytes INTEGER NOT NULL DEFAULT 0 CHECK (inbox_bytes >= 0)
  ) STRICT;

  CREATE TABLE rosters (
    room_id       TEXT    NOT NULL REFERENCES rooms,
    revision      INTEGER NOT NULL CHECK (revision >= 1),
    members       TEXT    NOT NULL,
    roster_digest TEXT    NOT NULL,
    PRIMARY KEY (room_id, revision)
  ) STRICT;

  CREATE TABLE log (
    room_id              TEXT    NOT NULL REFERENCES rooms,
    seq                  INTEGER NOT NULL CHECK (seq >= 1),
    kind                 TEXT    NOT NULL CHECK (kind IN ('turn.started', 'turn.settled')),
    event_id             TEXT    NOT NULL UNIQUE CHECK (event_id <> ''),
    thread_id            TEXT    NOT NULL CHECK (thread_id <> ''),
    member_id            TEXT    NOT NULL CHECK (member_id <> ''),
    turn_id              TEXT    NOT NULL CHECK (turn_id <> ''),
    task_id              TEXT    NOT NULL CHECK (task_id <> ''),
    execution_generation INTEGER NOT NULL CHECK (execution_generation >= 1),
    payload              TEXT    NOT NULL CHECK (payload <> ''),
    created_at           INTEGER NOT NULL,
    prev_hash            TEXT    NOT NULL CHECK (length(prev_hash) = 64),
    hash                 TEXT    NOT NULL CHECK (length(hash) = 64),
    UNIQUE (room_id, seq),
    UNIQUE (room_id, task_id, execution_generation, kind)
  ) STRICT;

  CREATE TABLE inbox (
    room_id     TEXT    NOT NULL REFERENCES rooms,
    number      INTEGER NOT NULL CHECK (number >= 1),
    message_id  TEXT    NOT NULL CHECK (message_id <> ''),
    thread_id   TEXT    NOT NULL CHECK (thread_id <> ''),
    author      TEXT    NOT NULL,
    origin      TEXT,
    text        TEXT    NOT NULL,
    attachments TEXT    NOT NULL,
    owed        TEXT    NOT NULL,
    named       TEXT    NOT NULL,
    row_seq     INTEGER,
    after_seq   INTEGER NOT NULL,
    accepted_at INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    PRIMARY KEY (room_id, number),
    UNIQUE (room_id, message_id)
  ) STRICT;

  CREATE TABLE receipts (
    room_id     TEXT    NOT NULL REFERENCES rooms,
    number      INTEGER NOT NULL,
    message_id  TEXT    NOT NULL,
    body_digest TEXT    NOT NULL,
    accepted_at INTEGER NOT NULL,
    PRIMARY KEY (room_id, number),
    UNIQUE (room_id, message_id)
  ) STRICT;
  `,
  `
  ALTER TABLE rooms ADD COLUMN paused           TEXT    NOT NULL DEFAULT '[]';
  ALTER TABLE rooms ADD COLUMN stop_post_number INTEGER;
  ALTER TABLE rooms ADD COLUMN stop_seq         INTEGER;
  ALTER TABLE rooms ADD COLUMN disbanded_at     INTEGER;

  CREATE TABLE leases (
    room_id    TEXT    NOT NULL PRIMARY KEY REFERENCES rooms,
    generation INTEGER NOT NULL CHECK (generation >= 1),
    holder     TEXT    NOT NULL CHECK (holder <> ''),
    renewal    INTEGER NOT NULL CHECK (renewal >= 0),
    released   INTEGER NOT NULL CHECK (released IN (0, 1)),
    process    TEXT    NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE retries (
    number               INTEGER PRIMARY KEY,
    room_id              TEXT    NOT NULL REFERENCES rooms,
    task_id              TEXT    NOT NULL CHECK (task_id <> ''),
    execution_generation INTEGER NOT NULL CHECK (execution_generation >= 1),
    origin               TEXT,
    cause                TEXT    NOT NULL CHECK (cause IN ('retry', 'auto_continue')),
    UNIQUE (room_id, task_id)
  ) STRICT;

  CREATE TABLE due_times (
    room_id              TEXT    NOT NULL REFERENCES rooms,
    task_id              TEXT    NOT NULL CHECK (task_id <> ''),
    execution_generation INTEGER NOT NULL CHECK (execution_generation >= 1),
    due_at               INTEGER NOT NULL,
    PRIMARY KEY (room_id, task_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE stops (
    number      INTEGER PRIMARY KEY,
    room_id     TEXT    NOT NULL REFERENCES rooms,
    cancel_id   TEXT    NOT NULL,
    post_number INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    cancelled   INTEGER NOT NULL,
    UNIQUE (room_id, cancel_id)
  ) STRICT;

  CREATE TABLE checkpoints (
    room_id     TEXT    NOT NULL PRIMARY KEY REFERENCES rooms,
    version     INTEGER NOT NULL,
    through_seq INTEGER NOT NULL,
    log_hash    TEXT    NOT NULL,
    digest      TEXT    NOT NULL,
    state       TEXT    NOT NULL
  ) STRICT;
  `,
  `
  ALTER TABLE rooms ADD COLUMN head_seq     INTEGER NOT NULL DEFAULT 0 CHECK (head_seq >= 0);
  ALTER TABLE rooms ADD COLUMN closed_posts INTEGER NOT NULL DEFAULT 0 CHECK (closed_posts >= 0);
  ALTER TABLE rooms ADD COLUMN closed_bytes INTEGER NOT NULL DEFAULT 0 CHECK (closed_bytes >= 0);

  UPDATE rooms SET
    head_seq     = (SELECT ifnull(max(seq), 0) FROM log WHERE log.room_id = rooms.room_id),
    closed_posts = (SELECT count(*) FROM inbox WHERE inbox.room_id = rooms.room_id AND owed = '[]'),
    closed_bytes = (SELECT ifnull(sum(bytes), 0) FROM inbox WHERE inbox.room_id = rooms.room_id AND owed = '[]');
  `,
  `
  CREATE TABLE sessions (
    session_id    TEXT    NOT NULL PRIMARY KEY CHECK (session_id <> ''),
    principal     TEXT    NOT NULL,
    title         TEXT,
    last_activity INTEGER NOT NULL,
    message_bytes INTEGER NOT NULL DEFAULT 0 CHECK (message_bytes >= 0),
    summary       TEXT    NOT NULL,
    work          TEXT    NOT NULL
  ) STRICT;
  CREATE INDEX sessions_by_activity ON sessions (last_activity, session_id);
  CREATE INDEX sessions_by_title ON sessions (principal, title, last_activity) WHERE title IS NOT NULL;

  CREATE TABLE session_messages (
    session_id TEXT    NOT NULL REFERENCES sessions,
    position   INTEGER NOT NULL CHECK (position >= 0),
    bytes      INTEGER NOT NULL CHECK (bytes > 0),
    message    TEXT    NOT NULL,
    PRIMARY KEY (session_id, position)
  ) STRICT;

  CREATE TABLE approval_rules (
    number    INTEGER PRIMARY KEY,
    agent_id  TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    command   TEXT NOT NULL,
    UNIQUE (agent_id, tool_name, command)
  ) STRICT;
  CREATE INDEX approval_rules_by_agent ON approval_rules (agent_id);
  `,
  `
  CREATE TABLE renames (
    number     INTEGER PRIMARY KEY,
    room_id    TEXT    NOT NULL REFERENCES rooms,
    event_id   TEXT    NOT NULL CHECK (event_id <> ''),
    name       TEXT    NOT NULL,
    revision   INTEGER NOT NULL CHECK (revision >= 1),
    renamed_at INTEGER NOT NULL,
    UNIQUE (room_id, event_id)
  ) STRICT;
  `,
  `
  CREATE TABLE named_values (
    namespace TEXT    NOT NULL CHECK (namespace <> ''),
    key       TEXT    NOT NULL CHECK (key <> ''),
    value     TEXT    NOT NULL,
    bytes     INTEGER NOT NULL CHECK (bytes = length(CAST(key AS BLOB)) + length(CAST(value AS BLOB))),
    PRIMARY KEY (namespace, key)
  ) STRICT;
  CREATE INDEX named_values_by_size ON named_values (namespace, key, bytes);
  `,
];

/** The schema that this code reads and writes. */
export const schemaVersion = steps.length;

/** @throws RoomtapError `log_newer_schema` when the file's schema is one that this code does not know */
export function refuseNewer(version: number, file: string): void {
  if (version <= schemaVersion) return;
  throw new RoomtapError("log_newer_schema", `${file} has schema ${version}; this roomtap knows ${schemaVersion}`);
}

/** @throws RoomtapError `log_newer_schema`, `log_older_schema`: whoever only looks cannot bring a file up to date */
export function refuseOther(version: number, file: string): void {
  refuseNewer(version, file);
  if (version === schemaVersion) return;
  throw new RoomtapError("log_older_schema", `${file} has schema ${version}; this roomtap reads ${schemaVersion}`);
}

/**
 * Takes the steps that are missing, each in a transaction of its own. Takes the write lock even when none is.
 * @param until the schema to stop at
 */
export async function migrate(database: SqliteDatabase, until = schemaVersion): Promise<void> {
  for (let more = true; more;) more = await database.transact(() => takeStep(database, until));
}

function takeStep(database: SqliteDatabase, until: number): boolean {
  const version = Number(database.pragma("user_version"));
  refuseNewer(version, database.file);
  const step = steps[version];
  if (step === undefined || version >= until) return false;
  database.exec(step);
  database.pragma(`user_version = ${version + 1}`);
  return version + 1 < until;
}
