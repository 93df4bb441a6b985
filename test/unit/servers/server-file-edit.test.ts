/** Editing one entry keeps every other byte of a server file. Files that cannot be edited in place are refused. */
import { describe, expect, it } from 'vitest';
import { isEmptyServerFile, putEntry, removeEntry, setDisabled } from '../../../src/edges/servers/server-file-edit.ts';

const CRLF = '{\r\n\t"description": "mine",\r\n\t"mcpServers": {\r\n\t\t"a": { "command": "a" }\r\n\t}\r\n}\r\n';

describe('putEntry', () => {
  it('creates the text of a new file, and adds after the other entries in the layout of the file', () => {
    const made = putEntry('', 'a', { command: 'a' });
    expect(made).toBe('{\n  "mcpServers": {\n    "a": {\n      "command": "a"\n    }\n  }\n}\n');
    const added = putEntry(CRLF, 'b', { command: 'b' });
    expect(added).toBe(CRLF.replace('"a" }\r\n', '"a" },\r\n\t\t"b": {\r\n\t\t\t"command": "b"\r\n\t\t}\r\n'));
  });

  it('replaces an entry with that name, and escapes any name', () => {
    const text = putEntry(CRLF, 'a', { command: 'new' });
    expect(JSON.parse(text)).toEqual({ description: 'mine', mcpServers: { a: { command: 'new' } } });
    const odd = putEntry('{}', '__proto__', { command: 'a' });
    expect(Object.keys(JSON.parse(odd).mcpServers)).toEqual(['__proto__']);
    expect(Object.keys(JSON.parse(putEntry(odd, 'a "b" / c', { command: 'a' })).mcpServers)).toHaveLength(2);
  });

  it('refuses a file with a duplicate name, or without an object of servers', () => {
    const twice = '{"mcpServers": {"a": {"command": "1"}, "a": {"command": "2"}}}';
    expect(() => putEntry(twice, 'a', { command: '3' })).toThrow('other parts of the file');
    expect(() => removeEntry(twice, 'a')).toThrow('other parts of the file');
    expect(() => putEntry('{"mcpServers": 5}', 'a', { command: '3' })).toThrow('is not an object of servers');
  });
});

describe('removeEntry', () => {
  it('removes what was added, byte for byte', () => {
    expect(removeEntry(putEntry(CRLF, 'b', { command: 'b', args: ['x'] }), 'b')).toBe(CRLF);
  });

  it('leaves an empty file only if there was nothing else in it', () => {
    expect(isEmptyServerFile(removeEntry(putEntry('', 'a', { command: 'a' }), 'a'))).toBe(true);
    expect(isEmptyServerFile(removeEntry(CRLF, 'a'))).toBe(false);
  });
});

describe('setDisabled', () => {
  it('adds the key, removes it again byte for byte, and changes nothing if it is already set', () => {
    const disabled = setDisabled(CRLF, 'a', true);
    expect(disabled).toBe(CRLF.replace('"command": "a"', '"command": "a", "disabled": true'));
    expect(setDisabled(disabled, 'a', true)).toBe(disabled);
    expect(setDisabled(disabled, 'a', false)).toBe(CRLF);
    expect(setDisabled(CRLF, 'a', false)).toBe(CRLF);
  });

  it('overrides "disabled": false, and refuses an entry that is not an object', () => {
    const text = '{"mcpServers": {"a": {"disabled": false, "command": "a"}, "b": 5}}';
    expect(JSON.parse(setDisabled(text, 'a', true)).mcpServers.a).toEqual({ command: 'a', disabled: true });
    expect(() => setDisabled(text, 'b', true)).toThrow('its entry "b" is not an object');
  });
});

describe('setDisabled', () => {
  // Such an entry is invalid as a whole, but `servers enable` said that there was nothing to change.
  it('enables an entry whose "disabled" is neither true nor false', () => {
    const text = '{"mcpServers": {"a": {"command": "a", "disabled": "true"}}}';
    expect(setDisabled(text, 'a', false)).toBe('{"mcpServers": {"a": {"command": "a"}}}');
    const enabled = '{"mcpServers": {"a": {"command": "a", "disabled": false}}}';
    expect(setDisabled(enabled, 'a', false)).toBe(enabled);
  });
});
