// @ts-nocheck its packages are installed only where the neighbours are measured.
/** `utcp-host.mjs SERVERS.json`: embeds @utcp/code-mode; answers lines of JSON, and ends with stdin. */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { CodeModeUtcpClient } from '@utcp/code-mode';

// Registers itself.
await import('@utcp/mcp');

// The library prints what it does.
for (const name of ['log', 'info', 'warn', 'error', 'debug']) {
  console[name] = () => undefined;
}

const client = await CodeModeUtcpClient.create(process.cwd(), null);
await client.registerManual({
  name: 'bench',
  call_template_type: 'mcp',
  config: { mcpServers: JSON.parse(readFileSync(process.argv[2], 'utf8')) },
});

async function answer({ code, prompt, queries, limit }) {
  if (prompt) {
    return CodeModeUtcpClient.AGENT_PROMPT_TEMPLATE;
  }
  if (code !== undefined) {
    const { result, logs } = await client.callToolChain(code);
    if (result === null) {
      throw new Error(logs.join('\n'));
    }
    return result;
  }
  const found = [];
  for (const query of queries) {
    const tools = await client.searchTools(query, limit);
    found.push(
      tools.map(({ name }) => {
        const [, server, ...rest] = name.split('.');
        return { server, tool: rest.join('.') };
      }),
    );
  }
  return found;
}

for await (const line of createInterface({ input: process.stdin })) {
  const reply = await answer(JSON.parse(line)).then(
    (value) => ({ answer: value }),
    (/** @type {unknown} */ error) => ({ error: String(error) }),
  );
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
process.exit(0);
