/** What a line on the standard input of `roomtap up` asks for. */
export type ConsoleLine =
  | { readonly kind: "empty" }
  | { readonly kind: "post"; readonly roomId: string; readonly text: string }
  | { readonly kind: "answer"; readonly id: string; readonly choice: string }
  /** Says what was expected and what to type. */
  | { readonly kind: "wrong"; readonly message: string };

const choices = ["once", "deny"];

/**
 * Reads a line: `/answer ID once|deny`, or a post. With several rooms a post begins with `#room `; with one it need not.
 * @param roomIds the rooms that are open, at least one
 */
export function parseLine(line: string, roomIds: readonly string[]): ConsoleLine {
  const text = line.trim();
  if (text === "") return { kind: "empty" };
  if (text.startsWith("/")) return parseCommand(text);
  const named = /^#([^\s]+)\s*(.*)$/s.exec(text);
  const [, name, rest] = named ?? [];
  if (name !== undefined && rest !== undefined && roomIds.includes(name)) {
    return rest === "" ? wrong(`nothing stands behind #${name}; type: #${name} TEXT`) : post(name, rest);
  }
  const [only] = roomIds;
  if (roomIds.length === 1 && only !== undefined) return post(only, text);
  const known = roomIds.map((id) => `#${id}`).join(", ");
  return wrong(
    `${name === undefined ? "no room is named" : `there is no room #${name}`}; begin the line with one of: ${known}`,
  );
}

function parseCommand(text: string): ConsoleLine {
  const [command, id, choice, ...more] = text.split(/\s+/);
  if (command !== "/answer")
    return wrong(`unknown command ${command}; known: /answer ID once|deny. A post may begin with / behind #ROOM`);
  if (id === undefined || choice === undefined || more.length > 0 || !choices.includes(choice)) {
    return wrong("expected: /answer ID once|deny");
  }
  return { kind: "answer", id, choice };
}

function post(roomId: string, text: string): ConsoleLine {
  return { kind: "post", roomId, text };
}

function wrong(message: string): ConsoleLine {
  return { kind: "wrong", message };
}
