/** Parses the subset of Dockerfile and .dockerignore syntax that ours use. */

export interface Instruction {
  name: string;
  text: string;
}

/** Returns the instructions in order, each on one line. */
export function instructionsOf(text: string): Instruction[] {
  return text
    .split('\n')
    .filter(line => !line.startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => {
      const [name = ''] = line.split(' ', 1);
      return { name, text: line.slice(name.length).trim() };
    });
}

/** Returns whether a file is ignored: the last matching rule decides, and a rule matches a folder with its contents. */
export function isIgnored(file: string, rules: string[]): boolean {
  let ignored = false;
  for (const rule of rules) {
    if (rule === '' || rule.startsWith('#')) continue;
    const isException = rule.startsWith('!');
    const pattern = rule.slice(isException ? 1 : 0).replaceAll('.', '\\.');
    const source = pattern.replaceAll('**', '\0').replaceAll('*', '[^/]*').replaceAll('\0', '.*');
    if (new RegExp(`^${source}(/|$)`).test(file)) ignored = !isException;
  }
  return ignored;
}
