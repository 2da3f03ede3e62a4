/** Code samples that trigger an event, using only each language's standard library. */

export interface TriggerCall {
  url: string;
  apiKey: string;
  body: { context: Record<string, unknown>; options?: Record<string, unknown> };
}

export interface Snippet {
  language: string;
  code: string;
}

export function triggerSnippets(call: TriggerCall): Snippet[] {
  return [
    { language: 'curl', code: curl(call) },
    { language: 'TypeScript', code: typescript(call) },
    { language: 'Python', code: python(call) },
    { language: 'PHP', code: php(call) },
    { language: 'Go', code: go(call) },
  ];
}

/** Quotes a text for a shell; a single quote inside closes the quotes, is escaped, and reopens them. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns the command line that simulates an event, which stores and sends nothing. */
export function simulateCommand(event: string, { context, options }: TriggerCall['body']): string {
  const lines = [`belfry simulate ${event}`, `--context ${shellQuoted(JSON.stringify(context))}`];
  if (options) lines.push(`--options ${shellQuoted(JSON.stringify(options))}`);
  return lines.join(' \\\n  ');
}

function curl({ url, apiKey, body }: TriggerCall): string {
  return [
    `curl ${shellQuoted(url)} \\`,
    `  -H ${shellQuoted(`Authorization: Key ${apiKey}`)} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${shellQuoted(JSON.stringify(body))}`,
  ].join('\n');
}

function typescript({ url, apiKey, body }: TriggerCall): string {
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: 'POST',
  headers: { Authorization: ${JSON.stringify(`Key ${apiKey}`)}, 'Content-Type': 'application/json' },
  body: JSON.stringify(${indented(body, '  ')}),
});
if (!response.ok) throw new Error(await response.text());
console.log(await response.json());`;
}

function python({ url, apiKey, body }: TriggerCall): string {
  return `import json
import urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    method="POST",
    headers={"Authorization": ${JSON.stringify(`Key ${apiKey}`)}, "Content-Type": "application/json"},
    data=json.dumps(${pythonValue(body, '    ')}).encode(),
)
with urllib.request.urlopen(request) as response:
    print(json.load(response))`;
}

function php({ url, apiKey, body }: TriggerCall): string {
  return `<?php
$response = file_get_contents(${phpValue(url)}, false, stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [${phpValue(`Authorization: Key ${apiKey}`)}, 'Content-Type: application/json'],
    'content' => json_encode(${phpValue(body, '    ')}),
]]));
echo $response;`;
}

function go({ url, apiKey, body }: TriggerCall): string {
  return `package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

func main() {
	body := strings.NewReader(${JSON.stringify(JSON.stringify(body))})
	request, err := http.NewRequest("POST", ${JSON.stringify(url)}, body)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", ${JSON.stringify(`Key ${apiKey}`)})
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	fmt.Println(response.Status, string(answer))
}`;
}

function indented(value: unknown, by: string): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${by}`);
}

function pythonValue(value: unknown, by: string): string {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (Array.isArray(value))
    return list(
      value.map(each => pythonValue(each, `${by}    `)),
      '[',
      ']',
      by,
    );
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).map(
    ([name, each]) => `${JSON.stringify(name)}: ${pythonValue(each, `${by}    `)}`,
  );
  return list(entries, '{', '}', by);
}

function phpValue(value: unknown, by = ''): string {
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value))
    return list(
      value.map(each => phpValue(each, `${by}    `)),
      '[',
      ']',
      by,
    );
  const entries = Object.entries(value).map(([name, each]) => `${phpValue(name)} => ${phpValue(each, `${by}    `)}`);
  // An empty PHP array would be encoded as a JSON list.
  return entries.length === 0 ? 'new stdClass()' : list(entries, '[', ']', by);
}

function list(items: string[], open: string, close: string, by: string): string {
  if (items.length === 0) return open + close;
  return `${open}\n${items.map(item => `${by}    ${item},`).join('\n')}\n${by}${close}`;
}
