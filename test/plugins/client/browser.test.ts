import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { rootFolder } from "../../support/repository.ts";

const program = `
  import { createClient, type ClientOptions } from "roomtap/client";
  const options: ClientOptions = { url: "ws://127.0.0.1:4173/api/ws", token: "a token" };
  const client = createClient(options);
  client.on("message.delta", ({ payload }) => { document.title = payload.text; });
  client.onRequest("approval", ({ params }) => ({ choice: confirm(String(params["command"])) ? "once" : "deny" }));
  await client.connect();
  const { session_id } = await client.call("session.create", {});
  await client.submit({ session_id, text: "hello" });
  await client.subscribeRoom({ room_id: "desk" }, { onActivity: ({ kind }) => { document.title = kind; } });
  await client.close();
`;

/** What the compiler says of a browser's program, which has no types of Node and checks the declarations of the build. */
function problemsOf(text: string): readonly string[] {
  const file = join(rootFolder, "dist", "browser-program.mts");
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts"],
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
  };
  const host = ts.createCompilerHost(options);
  const getSourceFile = host.getSourceFile.bind(host);
  const fileExists = host.fileExists.bind(host);
  // It stands in the build's folder, from where the package finds itself by its own name, and on no disk.
  host.fileExists = (path) => path === file || fileExists(path);
  host.getSourceFile = (path, language, ...more) =>
    path === file ? ts.createSourceFile(path, text, language) : getSourceFile(path, language, ...more);
  const diagnostics = ts.getPreEmitDiagnostics(ts.createProgram([file], options, host));
  return diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}

it("the client compiles for browsers, with ES2022 and the DOM alone and its declarations checked", () => {
  // The compiler looks: it refuses what a client does not have, and nothing else.
  expect(problemsOf(`${program} client.nothing();`)).toEqual(["Property 'nothing' does not exist on type 'Client'."]);
});
