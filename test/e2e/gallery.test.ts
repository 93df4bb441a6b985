// Tags: full, docker-release, user
/**
 * What a client gets for each kind of value: real tables, plots and images, on the image with data science packages.
 * `UPDATE_GALLERY=1` writes the results to test/e2e/gallery/.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, packageServer, ROOT, startBridge } from '../support/bridge-client.ts';
import { coverContainerEngines } from '../support/covered-engines.ts';
import { TEST_IMAGES } from '../support/engines.ts';
import { SALES_CSV, SAMPLES } from './gallery-samples.ts';

const isUpdate = process.env['UPDATE_GALLERY'] === '1';
const engines = await coverContainerEngines();

/** Loading the packages takes some seconds on a busy machine. */
const TIMEOUT_SECONDS = 60;

function textOf({ content }: CallToolResult): string {
  return content[0]?.type === 'text' ? content[0].text : '';
}

for (const [index, engine] of engines.entries()) {
  describe(`gallery on ${engine.label}`, () => {
    let bridge: BridgeClient;
    const pages: string[] = [];
    beforeAll(async () => {
      bridge = await startBridge({
        engine,
        env: { MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience },
        servers: (place) => {
          writeFileSync(join(place, 'sales.csv'), SALES_CSV);
          return { files: { ...packageServer('@modelcontextprotocol/server-filesystem', [place]), cwd: place } };
        },
      });
    });
    afterAll(async () => {
      await bridge.close();
      if (isUpdate && index === 0) {
        writeFileSync(join(folder, 'README.md'), `${HEADING}\n${pages.join('\n')}`);
      }
    });

    it.each(SAMPLES)('$title', async ({ title, code, text, blocks, servers = [] }) => {
      const args = { code, servers, timeout: TIMEOUT_SECONDS };
      const result = await bridge.client.callTool({ name: 'run_python', arguments: args });
      expect(textOf(result)).toMatch(text);
      expect(result.content.slice(1).map(describeBlock)).toEqual(blocks);
      if (isUpdate && index === 0) {
        pages.push(renderPage(title, code, result));
      }
    });
  });
}

function describeBlock(block: CallToolResult['content'][number]): string {
  switch (block.type) {
    case 'image':
      return `${block.type} ${block.mimeType}${block.mimeType === 'image/png' ? imageSize(block.data) : ''}`;
    case 'resource':
      return `${block.type} ${block.resource.mimeType}`;
    case 'resource_link':
      return `${block.type} ${block.uri}`;
    default:
      return block.type;
  }
}

/** Whether the longer side of a PNG is within the size that models use (PNG specification 11.2.2). */
function imageSize(base64: string): string {
  const header = Buffer.from(base64.slice(0, 64), 'base64');
  return Math.max(header.readUInt32BE(16), header.readUInt32BE(20)) <= 1568 ? ' in size' : ' too large';
}

/** Keeps large or changing data out of the documentation. */
const MAX_KEPT_CHARS = 200_000;
const HEADING = `# Gallery

What a client gets for each kind of value, as it came. Written by \`test/e2e/gallery.test.ts\`, with the image of \`sandbox-runtime\` that has pandas, matplotlib and Pillow.
`;

const folder = join(ROOT, 'test/e2e/gallery');
if (isUpdate) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
}
let images = 0;

function renderPage(title: string, code: string, result: CallToolResult): string {
  const text = `\`\`\`text\n${textOf(result)}\n\`\`\``;
  const blocks = result.content.slice(1).map((block) => {
    if (block.type !== 'image' || block.data.length > MAX_KEPT_CHARS) {
      return `Block: \`${describeBlock(block)}\``;
    }
    images += 1;
    const file = `${images}.${block.mimeType.slice('image/'.length)}`;
    writeFileSync(join(folder, file), Buffer.from(block.data, 'base64'));
    return `![${title}](${file})`;
  });
  return [`## ${title}`, `\`\`\`python\n${code}\n\`\`\``, text, ...blocks].join('\n\n') + '\n';
}
