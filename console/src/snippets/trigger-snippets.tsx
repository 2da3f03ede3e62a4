/** Code samples that trigger an event, in several languages. */
import { Code, Tabs, Text } from '@mantine/core';
import { CopyBlock } from '../components/copy.tsx';
import { fill } from '../components/fill.tsx';
import { texts } from '../texts/keys.ts';
import { type Snippet, type TriggerCall, triggerSnippets } from './snippets.ts';

interface TriggerSnippetsProps extends TriggerCall {
  /** Shown after the languages. */
  more?: Snippet[];
}

export function TriggerSnippets({ more = [], ...call }: TriggerSnippetsProps) {
  const snippets = [...triggerSnippets(call), ...more];
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List mb="sm" aria-label={texts.language}>
        {snippets.map(({ language }) => (
          <Tabs.Tab key={language} value={language} px="sm">
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map(({ language, code }) => (
        <Tabs.Panel key={language} value={language}>
          <CopyBlock value={code} label={texts.copyCode(language)} />
        </Tabs.Panel>
      ))}
      {call.body.options?.dry_run === true && (
        <Text size="xs" c="dimmed" mt={6}>
          {fill(texts.dryRunHint, { option: <Code fz="xs">dry_run</Code> })}
        </Text>
      )}
    </Tabs>
  );
}

export function triggerUrl({ org, prj, app, evt }: { org: string; prj: string; app: string; evt: string }): string {
  const path = `/api/o/${org}/p/${prj}/a/${app}/e/${evt}/trigger/`;
  return location.origin + path;
}
