/** Badges for an inactive or paused event or application. */
import { Badge, Tooltip } from '@mantine/core';
import { texts } from '../texts/events.ts';

interface State {
  active?: boolean;
  paused?: boolean;
  paused_reason?: string | null;
}

export function StateBadges({ active = true, paused = false, paused_reason }: State) {
  return (
    <>
      {!active && (
        <Tooltip label={texts.inactiveMeaning}>
          <Badge color="gray" tt="none" variant="default">
            {texts.inactive}
          </Badge>
        </Tooltip>
      )}
      {paused && (
        <Tooltip label={paused_reason ? texts.pausedBecause(paused_reason) : texts.pausedMeaning} multiline maw={280}>
          <Badge color="yellow" tt="none" variant="default" leftSection={<PauseDot />}>
            {texts.paused}
          </Badge>
        </Tooltip>
      )}
    </>
  );
}

function PauseDot() {
  const dot = 'light-dark(var(--mantine-color-yellow-7), var(--mantine-color-yellow-4))';
  return <span className="dot" style={{ '--dot': dot } as React.CSSProperties} />;
}
