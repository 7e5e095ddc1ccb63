// Your own pages: the browser's other clocks go by the page's clock too, and their author gets to
// know what goes by real time.

(() => {
  const { own, outer, remark } = Visit;

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

    window.Worker = new Proxy(Worker, {
      construct: (target, values, newTarget) => {
        remark(`a worker was started, which runs in real time: ${
        String(values[0]).replace(/^blob:.*/, "a blob")}`);
        return Reflect.construct(target, values, newTarget);
      },
    });
  }
})();
