// Your own pages: the browser's other clocks go by the page's clock too.

(() => {
  const { own, outer } = Visit;

  if (own || outer) {
    Object.defineProperty(performance, "timeOrigin", { value: Clock.began });
    Object.defineProperty(document, "lastModified", { value: "01/01/2020 00:00:00" });
    Object.defineProperty(Event.prototype, "timeStamp", { get: () => Clock.now - Clock.began });
    const formats = Intl.DateTimeFormat.prototype;
    const { get: formatOf } = Object.getOwnPropertyDescriptor(formats, "format");
    Object.defineProperty(formats, "format", {
      get() {
        const format = formatOf.call(this);
        return (date = Clock.now) => format(date);
      },
    });
    if (window.Temporal) {
      const instant = () => Temporal.Instant.fromEpochMilliseconds(Clock.now);
      const zonedDateTimeISO = (zone = "UTC") => instant().toZonedDateTimeISO(zone);
      Object.assign(Temporal.Now, {
        instant,
        zonedDateTimeISO,
        plainDateTimeISO: (zone) => zonedDateTimeISO(zone).toPlainDateTime(),
        plainDateISO: (zone) => zonedDateTimeISO(zone).toPlainDate(),
        plainTimeISO: (zone) => zonedDateTimeISO(zone).toPlainTime(),
      });
    }

    // As with CSS, an animation is over at once; one without end does not move.
    const { animate } = Element.prototype;
    Element.prototype.animate = function (...values) {
      const animation = animate.apply(this, values);
      if (animation.effect.getComputedTiming().endTime === Infinity) animation.cancel();
      else animation.finish();
      return animation;
    };
  }
})();
