// Tags: docker-release, user-release
/** Saved files and progress notifications, with the built command and a real client. */
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

for (const engine of await coverEngines()) {
  describe(`answers on ${engine.label}`, () => {
    let bridge: BridgeClient;
    beforeAll(async () => {
      bridge = await startBridge({
        engine,
        servers(folder) {
          const uvx = join(folder, 'uvx');
          symlinkSync(process.execPath, uvx);
          return {
            slow: fixtureServer('slow-start.mjs', '1500'),
            fetched: { ...fixtureServer('downloads.mjs', '40', '100'), command: uvx },
            fetched_later: { ...fixtureServer('downloads.mjs', '40', '100'), command: uvx },
          };
        },
      });
    });
    afterAll(() => bridge.close());

    it('link to files saved by code, which the client reads and later sessions load', async () => {
      const code = `data = bytes(range(256)) * 10_000
saved = runtime.save_artifact("data.bin", data)
runtime.save_artifact("notes.md", "# Nötes\\n")
open("report.csv", "w").write("a,b\\n1,2\\n")
runtime.save_artifact("report.csv", "report.csv").mime_type, saved.size`;
      const result = await bridge.client.callTool({ name: 'run_python', arguments: { code } });
      expect(result.structuredContent).toMatchObject({ result: "('text/csv', 2560000)" });
      const uris = result.content.flatMap((block) => (block.type === 'resource_link' ? [block.uri] : []));
      expect(uris).toEqual(['data.bin', 'notes.md', 'report.csv'].map((name) => `artifact:///default/${name}`));

      const { resources } = await bridge.client.listResources();
      expect(resources.map(({ uri }) => uri)).toEqual(expect.arrayContaining(uris));
      const contents = await Promise.all(uris.map((uri) => bridge.client.readResource({ uri })));
      expect(contents[0]?.contents).toMatchObject([{ mimeType: 'application/octet-stream' }]);
      expect(contents.slice(1).flatMap((each) => each.contents)).toMatchObject([
        { mimeType: 'text/markdown', text: '# Nötes\n' },
        { mimeType: 'text/csv', text: 'a,b\n1,2\n' },
      ]);

      const later = `runtime.load_artifact("data.bin", "default") == bytes(range(256)) * 10_000, [
    f"{each.session}/{each.name}" for each in runtime.list_artifacts()]`;
      const { structured } = await bridge.runPython(later, { session: 'later' });
      expect(structured['result']).toBe("(True, ['default/data.bin', 'default/notes.md', 'default/report.csv'])");
    });

    it('refuse names that are paths, with a hint', async () => {
      const { text } = await bridge.runPython('runtime.save_artifact("../x", b"")');
      expect(text).toMatch(/an artifact cannot have the name '\.\.\/x'/);
      await expect(bridge.client.readResource({ uri: 'artifact:///default/..%2fservers.json' })).rejects.toMatchObject({
        code: -32602,
      });
    });

    it('are preceded by progress notifications for a client that requested them', async () => {
      const messages: string[] = [];
      const code = 'runtime.progress(1, 2, "half")\nimport time\ntime.sleep(1.5)\nawait mcp_slow.ping()';
      const onprogress = ({ message }: { message?: string | undefined }): void => void messages.push(message ?? '');
      await bridge.client.callTool(
        { name: 'run_python', arguments: { code, servers: ['slow'], session: 'fresh' } },
        { onprogress },
      );
      expect(messages[0]).toBe('starting the sandbox');
      expect(messages).toEqual(expect.arrayContaining(['running the code', '1/2 half']));
      expect(messages.some((message) => message.includes('starting slow'))).toBe(true);
    });

    // It ended after its one second, without a word about the server.
    it('wait for a server that a package runner downloads, and show the progress', async () => {
      const messages: string[] = [];
      const { structured } = await bridge.runPython(
        'await mcp_fetched.ping()',
        { servers: ['fetched'], session: 'fetching', timeout: 2 },
        { onprogress: ({ message }) => void messages.push(message ?? '') },
      );
      expect(structured).toMatchObject({ result: "'pong'" });
      expect(messages).toEqual(
        expect.arrayContaining([expect.stringMatching(/^starting fetched \(uvx: Downloading part-\d+ \(4\.5MiB\)\)/)]),
      );
    });

    it('come on time to a client that follows no progress, and name the download, which goes on', async () => {
      const later = { servers: ['fetched_later'], session: 'fetching' };
      const { text } = await bridge.runPython('await mcp_fetched_later.ping()', { ...later, timeout: 2 });
      expect(text).toMatch(
        /^CELL_DEADLINE: .*, while server 'fetched_later' was still starting \(uvx: Downloading part-\d+/m,
      );
      expect(text).toContain('Hint: The start goes on, and may be a download: run the cell again in a minute');
      const { structured } = await bridge.runPython('await mcp_fetched_later.ping()', { ...later, timeout: 30 });
      expect(structured).toMatchObject({ result: "'pong'" });
    });
  });
}
