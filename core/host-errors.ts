/** What a code means, what to do about it, and the exit status the command gives for it. */
export interface ErrorEntry {
  readonly meaning: string;
  readonly remedy: string;
  /**
   * 1: what was asked turned out false. 2: wrong usage, config or script. 3: refused by a server, or none was reached.
   * 4: the database is unusable.
   */
  readonly exit: 1 | 2 | 3 | 4;
}

/** Codes of what a program, or somebody at a terminal, can run into. */
export const hostErrors = {
  call_failed: {
    meaning: "A server refused a call with a reason that this version does not know.",
    remedy: "Read the message; a newer version may know more.",
    exit: 1,
  },
  check_failed: {
    meaning: "A plugin does not do what every plugin must, or what its test waits for did not come.",
    remedy: "Do what the message says; the page of roomtap/testing tells each check.",
    exit: 1,
  },
  closed: { meaning: "The object was closed before the call.", remedy: "Open a new one.", exit: 1 },
  demo_failed: {
    meaning: "A turn of the demo settled with another status than completed or passed.",
    remedy: "Read the turn's error above; run again with --runner scripted to see a run without an agent.",
    exit: 1,
  },
  dependency_cycle: {
    meaning: "Plugins depend on each other in a circle; the message is its path.",
    remedy: "Take one of the dependencies out of its manifest.",
    exit: 2,
  },
  duplicate_id: {
    meaning: "Two things have one id: registrations, or calls of one connection that are not answered yet.",
    remedy: "Give one of them another id, or undo the first registration, or wait for the first reply.",
    exit: 2,
  },
  idempotency_conflict: {
    meaning: "The event id was used before with another text, thread or attachments.",
    remedy: "Use a new event id for a new message.",
    exit: 2,
  },
  inbox_full: {
    meaning: "The room's inbox holds 1,024 posts or 4 MiB that wait for their turns, or as much that addresses nobody.",
    remedy: "Do what the message says: wait until some have started, or address a member. Nothing was stored.",
    exit: 1,
  },
  internal: {
    meaning: "A fault in roomtap itself.",
    remedy: "Report it with the message and the cause.",
    exit: 1,
  },
  invalid_config: {
    meaning: "The config is not valid; the message names the path in it.",
    remedy: "Correct that path.",
    exit: 2,
  },
  invalid_params: {
    meaning: "A parameter is missing, has the wrong type or is out of range.",
    remedy: "Correct the value that the message names.",
    exit: 2,
  },
  invalid_plugin: {
    meaning: "A plugin's definition or manifest is not valid.",
    remedy: "Correct what the message names: it says what was expected and what was found.",
    exit: 2,
  },
  invalid_recording: {
    meaning: "A file is no recording, or a line of it is not as one of a recording has to be.",
    remedy: "Name a file that a recorder wrote; the message says which line is wrong.",
    exit: 2,
  },
  invalid_roster: {
    meaning: "A roster breaks a rule: size, ids, or a handle that is taken or reserved.",
    remedy: "Correct the member that the message names.",
    exit: 2,
  },
  lease_lost: {
    meaning: "Another host drives the room now, or nobody does: this one has no lease of it.",
    remedy: "Use the host that has the room. This one stopped its turns there and wrote nothing more.",
    exit: 4,
  },
  listen_failed: {
    meaning: "The gateway cannot listen at the address it was given.",
    remedy: "Choose another port or host; the message has the system's reason.",
    exit: 2,
  },
  log_busy: {
    meaning: "Another process held the database's write lock for longer than busyTimeoutMs.",
    remedy: "Find the process that holds it; then try again.",
    exit: 4,
  },
  log_conflict: {
    meaning: "A row with this event id is in the log with other content.",
    remedy: "Read the log: the first row stands.",
    exit: 4,
  },
  log_corrupt: {
    meaning: "The database or a room's log is damaged; the message names the first bad row.",
    remedy: "Restore the file from a backup. The room stays readable up to that row and takes no posts.",
    exit: 4,
  },
  log_foreign: {
    meaning: "The file is not a roomtap database.",
    remedy: "Check the path given as --db. The file was not changed.",
    exit: 4,
  },
  log_full: {
    meaning: "The disk, or the database's size limit, is full. Nothing was written by the call.",
    remedy: "Make room; what could not be settled is tried again by itself.",
    exit: 4,
  },
  log_newer_schema: {
    meaning: "The database was written by a newer roomtap.",
    remedy: "Use that version or a newer one. The file was not changed.",
    exit: 4,
  },
  log_not_found: {
    meaning: "There is no database at this path.",
    remedy: "Check the path given as --db. Nothing was created.",
    exit: 4,
  },
  log_older_schema: {
    meaning: "The database was written by an older roomtap, and looking at it changes nothing.",
    remedy: "Run `roomtap up` with it once, which brings it up to date.",
    exit: 4,
  },
  log_read_only: {
    meaning: "The database, or its folder, cannot be written.",
    remedy: "Check permissions and mount options, or give another --db.",
    exit: 4,
  },
  log_unavailable: {
    meaning: "The database could not be opened or used.",
    remedy: "The message has the system's reason.",
    exit: 4,
  },
  missing_dependency: {
    meaning: "A plugin depends on one that is not loaded, or whose version will not do.",
    remedy: "Load the plugin that the message names, in a version of its range.",
    exit: 2,
  },
  missing_package: {
    meaning: "A part of roomtap needs a package that is not installed with it.",
    remedy: "Install the package that the message names.",
    exit: 2,
  },
  not_connected: {
    meaning: "No server was reached, or it ended the connection; the message has its reason.",
    remedy: "Start one with `roomtap up --config FILE --port 0`, or correct --url and --token.",
    exit: 3,
  },
  not_retryable: {
    meaning: "The task completed or passed.",
    remedy: "Post a message instead: there is nothing to do again.",
    exit: 1,
  },
  plugin_failed: {
    meaning:
      "A plugin's code failed: its setup, of which nothing is left registered then, or a route or command of it.",
    remedy:
      "The host's operator is told what it threw: in the message or a notice, and by `roomtap plugin list --long`.",
    exit: 2,
  },
  plugin_lost: {
    meaning: "The plugin was unloaded, or its worker ended, before it answered.",
    remedy: "Try again when it runs: `roomtap plugin list` tells how it fares, and why its worker ended.",
    exit: 1,
  },
  position_conflict: {
    meaning: "The log's head is not at the expected position: another append came first.",
    remedy: "Read the log from the position in the answer and decide anew.",
    exit: 4,
  },
  quota_exceeded: {
    meaning: "A plugin's storage is full: 1,024 keys, or 1 MiB in all.",
    remedy: "Delete keys that are no longer needed.",
    exit: 1,
  },
  recording_unwritable: {
    meaning: "A file of a recording cannot be made or written; the message has the reason of the system.",
    remedy: "Free some space, or name a folder that may be written; a file that exists is never written over.",
    exit: 1,
  },
  revision_conflict: {
    meaning: "The room's revision is not the expected one: its name or roster was changed meanwhile.",
    remedy: "Read the room and decide anew upon its present revision.",
    exit: 1,
  },
  room_conflict: {
    meaning: "A room of this id is there already, with another name or other members.",
    remedy: "Choose another id, or give the name and members that the room has.",
    exit: 2,
  },
  room_disbanded: {
    meaning: "The room was closed for good.",
    remedy: "Its log stays readable. Go on in a new room, under another id.",
    exit: 1,
  },
  room_full: {
    meaning: "The room's log reached its quota of 100,000 rows or 256 MiB.",
    remedy: "Go on in a new room; this one stays readable.",
    exit: 1,
  },
  room_retired: {
    meaning: "The id belonged to a room that was disbanded.",
    remedy: "Choose an id that was never used.",
    exit: 2,
  },
  runner_not_installed: {
    meaning: "The demo's agent is not installed: it comes with a clone of the repository, not with the package.",
    remedy: "Add --runner scripted, which needs no agent, or run npm ci in a clone of the repository.",
    exit: 2,
  },
  session_busy: {
    meaning: "The session already runs an attempt.",
    remedy: "Settle that attempt first: a session runs one at a time.",
    exit: 1,
  },
  stale_generation: {
    meaning: "The generation is not that of the last attempt.",
    remedy: "Read the room's state and name its last attempt.",
    exit: 1,
  },
  task_open: {
    meaning: "The last attempt of the task has not settled.",
    remedy: "Wait until it has, or stop it first.",
    exit: 1,
  },
  text_too_large: {
    meaning: "A post holds more than 64 KiB of text, or more than 16 attachments of 1 KiB each.",
    remedy: "Shorten it, or attach a reference. Nothing was stored.",
    exit: 2,
  },
  too_many_commands: {
    meaning: "A plugin registered more than 100 commands.",
    remedy: "Undo registrations that are no longer needed.",
    exit: 2,
  },
  too_many_consumers: {
    meaning: "A plugin registered more than 100 handlers.",
    remedy: "Undo registrations that are no longer needed, or handle several kinds in one handler.",
    exit: 2,
  },
  too_many_requests: {
    meaning: "A session has 32 open requests, or the process 1,024.",
    remedy: "Answer some of them.",
    exit: 1,
  },
  too_many_rooms: {
    meaning: "256 rooms are active, and no more can be.",
    remedy: "Disband a room that is no longer needed.",
    exit: 1,
  },
  too_many_routes: {
    meaning: "A plugin registered more than 100 routes.",
    remedy: "Undo registrations that are no longer needed, or use a path with a name in it.",
    exit: 2,
  },
  unknown_command: {
    meaning: "The plugin has no command of this name; the message lists those it has.",
    remedy: "Correct the name.",
    exit: 2,
  },
  unknown_kind: {
    meaning: "A handler asks for an activity kind that does not exist.",
    remedy: "Use one of the kinds that the message lists.",
    exit: 2,
  },
  unknown_member: {
    meaning: "No member of the room has this id or handle.",
    remedy: "`roomtap rooms --db FILE` lists the members.",
    exit: 2,
  },
  unknown_message: {
    meaning: "No such post waits in the room's inbox.",
    remedy: "Look at the inbox in the room's state; what has started is stopped by its turn.",
    exit: 2,
  },
  unknown_plugin: {
    meaning: "There is no plugin of this id here; the message lists those there are.",
    remedy: "Correct the id, or add the plugin to the config.",
    exit: 2,
  },
  unknown_request: {
    meaning: "No request has this id, or its outcome is older than 10 minutes.",
    remedy: "List the open requests.",
    exit: 2,
  },
  unknown_room: {
    meaning: "There is no room of this id here.",
    remedy: "`roomtap rooms --db FILE` lists the rooms.",
    exit: 2,
  },
  unknown_task: {
    meaning: "The task is not among those that the room still knows: all open ones and the last 256 settled.",
    remedy: "Name a task of the room's state, or post a message.",
    exit: 2,
  },
  unknown_turn: {
    meaning: "No open turn of the room has this id.",
    remedy: "Look at the members in the room's state.",
    exit: 2,
  },
} as const satisfies Record<string, ErrorEntry>;
