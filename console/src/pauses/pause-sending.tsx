/** The button that stops all sending of the organization. */
import { IconPlayerPause } from '@tabler/icons-react';
import { GuardedButton } from '../components/actions.tsx';
import { useOrg } from '../paths.ts';
import { texts } from '../texts/pauses.ts';
import { askToPause } from './pause-dialog.tsx';
import { pause } from './resume.ts';

export function PauseSending() {
  const org = useOrg();
  const all = { kind: 'organization', path: '' } as const;
  return (
    <GuardedButton
      permission="event:write"
      variant="default"
      size="xs"
      leftSection={<IconPlayerPause size={14} stroke={1.6} />}
      onClick={() => askToPause({ name: texts.allSending, run: body => pause(org, all, body) })}
    >
      {texts.pauseSending}
    </GuardedButton>
  );
}
