/** What keeps an event or an application from sending as usual; nothing when nothing does. */
import { Badge, Tooltip } from '@mantine/core';

export function StateBadges({ active = true, paused = false }: { active?: boolean; paused?: boolean }) {
  return (
    <>
      {!active && (
        <Tooltip label="Triggers are refused.">
          <Badge color="gray" tt="none" variant="default">
            inactive
          </Badge>
        </Tooltip>
      )}
      {paused && (
        <Tooltip label="Messages are kept until it is resumed; none is dropped.">
          <Badge color="yellow" tt="none" variant="default" leftSection={<PauseDot />}>
            paused
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
