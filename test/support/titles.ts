import ts from "typescript";

/**
 * Titles of the tests in a text: of `it`, `test` and `describe`, also with `.each(...)` and the like. Of a template the
 * part before its first `${`.
 */
export function readTitles(text: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && namesATest(node.expression)) {
      const [title] = node.arguments;
      if (title !== undefined && ts.isStringLiteralLike(title)) found.push(title.text);
      if (title !== undefined && ts.isTemplateExpression(title)) found.push(title.head.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("read.ts", text, ts.ScriptTarget.Latest, false));
  return found;
}

function namesATest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return ["it", "test", "describe"].includes(callee.text);
  if (ts.isTaggedTemplateExpression(callee)) return namesATest(callee.tag);
  if (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) return namesATest(callee.expression);
  return false;
}

/** The ids at the beginning of a title: `C-053`, `R12`, `I4`, `W2`; several are divided by a comma, `and` or a space. */
export function leadingIds(title: string): readonly string[] {
  const head = /^((C-\d{3}|[RISW]\d{1,2})(:|,| and)?( |$))+/.exec(title)?.[0] ?? "";
  return head.match(/C-\d{3}|[RISW]\d{1,2}/g) ?? [];
}
