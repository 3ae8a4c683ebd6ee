// The views of the coder and the trace, in both themes and widths: checked with axe, and
// saved as screenshots.
import { after, before, test } from "node:test";
import { answered, close, desktop, open, phone, serve } from "./harness.js";
import { inBoth } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await server?.stop();
  await close();
});

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  test(`the coder and the trace, at ${width}`, async () => {
    const p = await open(server.url, { viewport });
    const see = (name) => inBoth(p, name, width);
    const approval = p.getByRole("group", { name: "Approval" });
    const send = async (request) => {
      await p.getByRole("textbox", { name: "Your question" }).fill(request);
      await p.getByRole("button", { name: "Send" }).click();
    };
    await p.getByRole("button", { name: "Analyst" }).click();
    await p.getByRole("menuitemradio", { name: /^Coder/ }).click();
    await send("replace draft by final in README.md");
    await approval.getByText("Status: final").waitFor();
    await see("approval-change");
    await approval.getByRole("button", { name: "Allow once" }).click();
    let turn = await answered(p, "replace draft by final in README.md");
    await turn.getByRole("button", { name: /step/ }).click();
    await turn.getByRole("button", { name: /^Reading a file/ }).click();
    await turn.getByRole("region", { name: "Lines of README.md" }).waitFor();
    await turn.getByRole("button", { name: /^Editing a file/ }).click();
    await turn.getByRole("region", { name: "Changes of README.md" }).waitFor();
    await see("card-change");
    await send("run sh report.sh >sums.txt; cat sums.txt; false");
    await approval.waitFor();
    await see("approval-command");
    await approval.getByRole("button", { name: "Decline" }).click();
    await see("approval-decline");
    await approval.getByRole("button", { name: "Back" }).click();
    await approval.getByRole("button", { name: "Allow once" }).click();
    turn = await answered(p, "run sh report.sh >sums.txt; cat sums.txt; false");
    await turn.getByRole("button", { name: /step/ }).click();
    await turn.getByRole("button", { name: /^Running a command/ }).click();
    await turn.getByRole("region", { name: "Output" }).waitFor();
    await see("card-command");
    await send("list files");
    turn = await answered(p, "list files");
    await turn.getByRole("button", { name: /step/ }).click();
    await turn.getByRole("button", { name: /^Looking for files/ }).click();
    await turn.getByRole("list", { name: "Files found" }).waitFor();
    await send("find north");
    turn = await answered(p, "find north");
    await turn.getByRole("button", { name: /step/ }).click();
    await turn.getByRole("button", { name: /^Searching in files/ }).click();
    await turn.getByRole("button", { name: "sales.csv" }).first().waitFor();
    await see("card-search");
    await p.getByRole("button", { name: "Files of the workspace" }).click();
    const changed = p.getByRole("region", { name: "Changed by this conversation" });
    await changed.getByRole("button", { name: /^README\.md/ }).waitFor();
    await see("files");
    await changed.getByRole("button", { name: /^README\.md/ }).click();
    await p.getByRole("region", { name: "Version 2" }).waitFor();
    await see("file-versions");
    await p.getByRole("tab", { name: "Content" }).click();
    await p.getByRole("region", { name: "Content of README.md" }).getByText("Status: final").waitFor();
    await see("file-content");
    await p.getByRole("button", { name: "Close files" }).click();
    await p.getByRole("button", { name: "This conversation" }).click();
    await p.getByRole("menuitem", { name: /^Trace/ }).click();
    await p.getByText("run finished").first().waitFor();
    await p.getByRole("list", { name: "Events" }).getByRole("button").nth(2).click();
    await p.getByRole("region", { name: /^Event / }).waitFor();
    await see("trace-coder");
    await p.done();
  });
}
