/** What a line on the standard input of `roomtap up` asks for. */
export type ConsoleLine =
  | { readonly kind: "empty" }
  | { readonly kind: "post"; readonly roomId: string; readonly text: string }
  | { readonly kind: "answer"; readonly id: string; readonly choice: string }
  | { readonly kind: "stop" | "state"; readonly roomId: string }
  | { readonly kind: "pause" | "resume"; readonly roomId: string; readonly handle: string }
  | { readonly kind: "retry"; readonly roomId: string; readonly taskId: string }
  /** Says what was expected and what to type. */
  | { readonly kind: "wrong"; readonly message: string };

/** The commands and how they are typed. */
const usage = {
  "/answer": "/answer ID once|deny",
  "/stop": "/stop",
  "/pause": "/pause @HANDLE",
  "/resume": "/resume @HANDLE",
  "/retry": "/retry TASK",
  "/state": "/state",
} as const;

/** How each of them is typed, in one text. */
const commands = Object.values(usage).join(", ");

/** What `roomtap up --help` says below its options. */
export const upHelp = `Lines on stdin: TEXT is a post (//TEXT one that begins with a slash), or it is a command:
  ${commands}
With several rooms a line begins with #ROOM. What clients of --port must show is the environment's ROOMTAP_TOKEN, of at
least 16 characters; without it a token is made at each start.
With --config, SIGHUP reads who may connect from it again.`;

type Command = keyof typeof usage;

/**
 * Reads a line: a post, or a command that begins with `/` (a post that does begins with `//`). With several rooms it begins
 * with `#room `, with one it need not; `/answer` names its request and needs no room.
 * @param roomIds the rooms that are open, at least one
 */
export function parseLine(line: string, roomIds: readonly string[]): ConsoleLine {
  const text = line.trim();
  if (text === "") return { kind: "empty" };
  if (/^\/answer(\s|$)/.test(text)) return parseAnswer(text);
  const [, name, rest = ""] = /^#(\S+)\s*(.*)$/s.exec(text) ?? [];
  if (name !== undefined && roomIds.includes(name)) {
    if (rest === "") return wrong(`nothing stands behind #${name}; type: #${name} TEXT`);
    return parseInRoom(rest, name);
  }
  const [only] = roomIds;
  if (roomIds.length === 1 && only !== undefined) return parseInRoom(text, only);
  const known = roomIds.map((id) => `#${id}`).join(", ");
  return wrong(
    `${name === undefined ? "no room is named" : `there is no room #${name}`}; begin the line with one of: ${known}`,
  );
}

function parseInRoom(text: string, roomId: string): ConsoleLine {
  if (text.startsWith("//")) return { kind: "post", roomId, text: text.slice(1) };
  if (!text.startsWith("/")) return { kind: "post", roomId, text };
  const [word = "", argument, ...more] = text.split(/\s+/);
  if (word === "/answer") return parseAnswer(text);
  if (!isRoomCommand(word)) {
    return wrong(`unknown command ${word}; known: ${commands}. A post may begin with //`);
  }
  const expected = wrong(`expected: ${usage[word]}`);
  if (more.length > 0) return expected;
  switch (word) {
    case "/stop":
      return argument === undefined ? { kind: "stop", roomId } : expected;
    case "/state":
      return argument === undefined ? { kind: "state", roomId } : expected;
    case "/retry":
      return argument === undefined ? expected : { kind: "retry", roomId, taskId: argument };
    case "/pause":
    case "/resume": {
      const handle = argument?.replace(/^@/, "");
      if (handle === undefined || handle === "") return expected;
      return { kind: word === "/pause" ? "pause" : "resume", roomId, handle };
    }
  }
}

function isRoomCommand(word: string): word is Exclude<Command, "/answer"> {
  return Object.hasOwn(usage, word);
}

function parseAnswer(text: string): ConsoleLine {
  const [, id, choice, ...more] = text.split(/\s+/);
  if (id === undefined || more.length > 0 || (choice !== "once" && choice !== "deny")) {
    return wrong(`expected: ${usage["/answer"]}`);
  }
  return { kind: "answer", id, choice };
}

function wrong(message: string): ConsoleLine {
  return { kind: "wrong", message };
}
