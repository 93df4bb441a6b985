/** The handshake with a host, and what a hostile one can send. */
import { describe, expect, it } from 'vitest';
import { Host, type HostMembers, type ViewWindow } from '../../../../../src/record/ui/page/chat/host.ts';
import { applyTheme } from '../../../../../src/record/ui/page/chat/host-theme.ts';

function open() {
  const sent: HostMembers[] = [];
  const seen: unknown[] = [];
  const listeners: ((event: { source: unknown; data: unknown }) => void)[] = [];
  const parent = { postMessage: (message: unknown, _origin: string) => void sent.push(message as HostMembers) };
  const view: ViewWindow = { parent, addEventListener: (_type, listen) => void listeners.push(listen) };
  const host = new Host(view, {
    onContext: (context) => seen.push(['context', context]),
    onInput: (given) => seen.push(['input', given]),
    onResult: (result) => seen.push(['result', result]),
    onCancelled: () => seen.push(['cancelled']),
  });
  const say = (data: unknown, source: unknown = parent): void =>
    listeners.forEach((listen) => listen({ source, data }));
  const agree = (): void => {
    say({ jsonrpc: '2.0', id: 1, result: { protocolVersion: '2026-01-26', hostContext: { theme: 'dark' } } });
    seen.length = 0;
    sent.length = 0;
  };
  return { host, sent, seen, say, agree };
}

const notification = (method: string, params?: unknown): HostMembers => ({ jsonrpc: '2.0', method, params });
const RESULT = notification('ui/notifications/tool-result', { content: [] });

describe('the handshake', () => {
  it('is that of 2026-01-26', () => {
    const { host, say, seen, sent } = open();
    expect(sent).toEqual([
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'ui/initialize',
        params: {
          protocolVersion: '2026-01-26',
          appInfo: { name: 'mcp-server-code-execution-mode', version: '1' },
          appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
        },
      },
    ]);
    host.resized({ width: 300, height: 40 });
    say({ jsonrpc: '2.0', id: 1, result: { protocolVersion: '2026-01-26', hostContext: { theme: 'dark' } } });
    expect(seen).toEqual([['context', { theme: 'dark' }]]);
    expect(sent.slice(1)).toEqual([
      { jsonrpc: '2.0', method: 'ui/notifications/initialized', params: {} },
      { jsonrpc: '2.0', method: 'ui/notifications/size-changed', params: { width: 300, height: 40 } },
    ]);
  });

  it('leads to what the host says about the call', () => {
    const { agree, say, seen } = open();
    agree();
    say(notification('ui/notifications/tool-input-partial', { arguments: { code: 'pri' } }));
    say(notification('ui/notifications/tool-input', { arguments: { code: 'print()' } }));
    say(RESULT);
    say(notification('ui/notifications/tool-cancelled', { reason: 'x' }));
    say(notification('ui/notifications/host-context-changed', { theme: 'light' }));
    expect(seen).toEqual([
      ['input', { code: 'pri' }],
      ['input', { code: 'print()' }],
      ['result', { content: [] }],
      ['cancelled'],
      ['context', { theme: 'light' }],
    ]);
  });

  it('sizes are sent when they change', () => {
    const { agree, host, sent } = open();
    agree();
    [10, 10, 20].forEach((height) => host.resized({ width: 5, height }));
    expect(sent.map(({ params }) => params)).toEqual([
      { width: 5, height: 10 },
      { width: 5, height: 20 },
    ]);
  });

  it('requests of the host are answered, unknown ones with an error', () => {
    const { agree, say, sent } = open();
    agree();
    say({ jsonrpc: '2.0', id: 'p', method: 'ping' });
    say({ jsonrpc: '2.0', id: 7, method: 'ui/resource-teardown', params: { reason: 'x' } });
    say({ jsonrpc: '2.0', id: 8, method: 'tools/list' });
    expect(sent).toEqual([
      { jsonrpc: '2.0', id: 'p', result: {} },
      { jsonrpc: '2.0', id: 7, result: {} },
      { jsonrpc: '2.0', id: 8, error: { code: -32_601, message: 'The view has no such method.' } },
    ]);
  });
});

describe('ignored is', () => {
  it.each([
    ['text', 'x'],
    ['null', null],
    ['a list', [RESULT]],
    ['no JSON-RPC', { method: 'ui/notifications/tool-result', params: {} }],
    ['an unknown notification', notification('ui/notifications/x', {})],
    ['a method that is no text', { jsonrpc: '2.0', method: 5 }],
    ['an id that is no id', { jsonrpc: '2.0', method: 'ping', id: {} }],
    ['an answer to nothing', { jsonrpc: '2.0', id: 2, result: { protocolVersion: 'x' } }],
    ['a second answer', { jsonrpc: '2.0', id: 1, result: { protocolVersion: 'x', hostContext: { theme: 'light' } } }],
  ])('%s', (_name, message) => {
    const { agree, say, seen, sent } = open();
    agree();
    say(message);
    expect([seen, sent]).toEqual([[], []]);
  });

  it('what another window says', () => {
    const { agree, say, seen, sent } = open();
    say({ jsonrpc: '2.0', id: 1, result: { protocolVersion: 'x' } }, {});
    expect(sent).toHaveLength(1);
    agree();
    say(RESULT, {});
    say({ jsonrpc: '2.0', id: 7, method: 'ping' }, null);
    expect([seen, sent]).toEqual([[], []]);
  });

  it('what comes before the handshake, and an answer that is an error', () => {
    const { say, seen, sent } = open();
    say(RESULT);
    say({ jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } });
    say({ jsonrpc: '2.0', id: 1, result: { hostContext: { theme: 'dark' } } });
    say(RESULT);
    expect(seen).toEqual([]);
    expect(sent).toHaveLength(1);
  });
});

describe('the theme', () => {
  function themed(context: HostMembers) {
    const set: Record<string, string> = {};
    const style = { colorScheme: '', setProperty: (name: string, value: string) => void (set[name] = value) };
    applyTheme({ style }, context);
    return { scheme: style.colorScheme, set };
  }

  it('is light or dark, with the colors and fonts that the view uses', () => {
    const variables = {
      '--color-text-primary': 'light-dark(#171717, rgb(250 250 250 / 90%))',
      '--font-sans': '"Host Sans", sans-serif',
      '--font-heading-lg-size': '30px',
      '--bar': 'red',
    };
    expect(themed({ theme: 'dark', styles: { variables } })).toEqual({
      scheme: 'dark',
      set: {
        '--color-text-primary': 'light-dark(#171717, rgb(250 250 250 / 90%))',
        '--font-sans': '"Host Sans", sans-serif',
      },
    });
  });

  it.each([
    'url(https://evil.example/x)',
    'URL (x)',
    'image-set("x" 1x)',
    'red; background: blue',
    'red} *{display:none',
    '\\75rl(x)',
    '/**/url(x)',
    'x'.repeat(301),
    5,
    null,
  ])('a value such as %s is not used', (value) => {
    expect(themed({ theme: 'x', styles: { variables: { '--font-sans': value } } })).toEqual({ scheme: '', set: {} });
  });

  it.each([{ styles: 5 }, { styles: { variables: [] } }, { theme: {} }])('neither is %j', (context) => {
    expect(themed(context)).toEqual({ scheme: '', set: {} });
  });
});
