/** Parses the `tag=value; tag=value` lists of DKIM and DMARC records. */
export interface TagList {
  tags: Map<string, string>;
  mistakes: string[];
}

export function parseTags(text: string): TagList {
  const list: TagList = { tags: new Map(), mistakes: [] };
  for (const part of text.split(';')) {
    if (part.trim() === '') continue;
    const [, name, value = ''] = /^\s*([a-z][a-z0-9_]*)\s*=(.*)$/is.exec(part) ?? [];
    const shown = part
      .trim()
      .replace(/[^\x20-\x7e]/g, '?')
      .slice(0, 60);
    if (name === undefined) list.mistakes.push(`has "${shown}", which is not of the form tag=value`);
    else if (list.tags.has(name.toLowerCase())) list.mistakes.push(`has the tag ${name} twice`);
    else list.tags.set(name.toLowerCase(), value.trim());
  }
  return list;
}
