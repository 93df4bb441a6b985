// Tags: full, docker-release
/** A file that only the user's machine has: the answer has the line that reads it, and that line works. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, packageServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

/** Words that servers for files and for repositories share. */
const OTHERS = ['memory', 'everything'];

describe.each(await coverEngines())('a file of the user on $label', (engine) => {
  let bridge: BridgeClient;
  beforeAll(async () => {
    bridge = await startBridge({
      engine,
      servers: (folder) => {
        writeFileSync(join(folder, 'sales.csv'), 'region,units\nnorth,3\n');
        writeFileSync(join(folder, 'dot.png'), Buffer.from('iVBORw0KGgo=', 'base64'));
        const others = OTHERS.map((name) => [name, packageServer(`@modelcontextprotocol/server-${name}`)]);
        const files = { ...packageServer('@modelcontextprotocol/server-filesystem', [folder]), cwd: folder };
        return { ...Object.fromEntries(others), files };
      },
    });
  });
  afterAll(async () => bridge.close());

  it.each([
    ['import csv\nlist(csv.reader(open("sales.csv")))', "text = await mcp_files.read_text_file(path='sales.csv')"],
    ['open("dot.png", "rb").read()', "data = (await mcp_files.read_media_file(path='dot.png')).data"],
    ['import os\nos.listdir("reports")', "print(await mcp_files.list_directory(path='reports'))"],
  ])('is read by the line in the hint: %s', async (code, line) => {
    const { text } = await bridge.runPython(code, { servers: ['files'] });
    expect(text).toMatch(/^Hint: '.*' means .*\. The sandbox does not see the user's files\. Write: /m);
    expect(text).toContain(line);
    const { text: read } = await bridge.runPython(`${line.replace("'reports'", "'.'")}\nprint("worked")`);
    expect(read).toContain('worked');
  });

  it('on a server that is not loaded is read with the argument in the hint', async () => {
    const { text } = await bridge.runPython('open("sales.csv")', { session: 'other' });
    const [, server = ''] = /# with servers=\['(\w+)'\]/.exec(text) ?? [];
    const { text: read } = await bridge.runPython('await mcp_files.read_text_file(path="sales.csv")', {
      session: 'other',
      servers: [server],
    });
    expect(read).toContain('north,3');
  });
});
