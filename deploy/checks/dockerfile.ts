/** Reads a Dockerfile and a .dockerignore, as far as ours go. */

export interface Instruction {
  name: string;
  text: string;
}

/** In their order, each on one line. */
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

/** The last rule that fits decides; a rule fits a folder and everything in it. */
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
