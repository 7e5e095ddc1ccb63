// Colours by the names that CSS has for them.

const Colours = (() => {
  const COLOUR_NAMES = `aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond
blue blueviolet brown burlywood cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson
darkblue darkcyan darkgoldenrod darkgray darkgreen darkkhaki darkmagenta darkolivegreen darkorange
darkorchid darkred darksalmon darkseagreen darkslateblue darkslategray darkturquoise darkviolet
deeppink deepskyblue dimgray dodgerblue firebrick floralwhite forestgreen gainsboro ghostwhite gold
goldenrod gray green greenyellow honeydew hotpink indianred indigo ivory khaki lavender lavenderblush
lawngreen lemonchiffon lightblue lightcoral lightcyan lightgoldenrodyellow lightgray lightgreen
lightpink lightsalmon lightseagreen lightskyblue lightslategray lightsteelblue lightyellow lime
limegreen linen magenta maroon mediumaquamarine mediumblue mediumorchid mediumpurple mediumseagreen
mediumslateblue mediumspringgreen mediumturquoise mediumvioletred midnightblue mintcream mistyrose
moccasin navajowhite navy oldlace olive olivedrab orange orangered orchid palegoldenrod palegreen
paleturquoise palevioletred papayawhip peachpuff peru pink plum powderblue purple rebeccapurple red
rosybrown royalblue saddlebrown salmon sandybrown seagreen seashell sienna silver skyblue slateblue
slategray snow springgreen steelblue tan teal thistle tomato turquoise violet wheat white whitesmoke
yellow yellowgreen`.split(/\s+/);

  // Red, green, blue and opacity of a computed colour; null for anything else, such as a gradient.
  const channels = (colour) => {
    const match = /^rgba?\(([^)]*)\)$/.exec(colour);
    if (!match) return null;
    const [red, green, blue, alpha = 1] = match[1].split(/[\s,/]+/).map(Number);
    return [red, green, blue, alpha];
  };

  const hexadecimal = (numbers) =>
    `#${numbers.map((number) => Math.round(number).toString(16).padStart(2, "0")).join("")}`;

  let colourNames = null; // hexadecimal -> name
  const colourName = (hex) => {
    if (!colourNames) {
      const pen = document.createElement("canvas").getContext("2d");
      colourNames = new Map(COLOUR_NAMES.map((name) => {
        pen.fillStyle = name;
        return [pen.fillStyle, name];
      }));
    }
    return colourNames.get(hex) ?? hex;
  };

  // A computed colour by its name, or in hexadecimal; empty if it can't be seen.
  const colour = (computed) => {
    const found = channels(computed);
    if (!found || found[3] === 0) return "";
    const name = colourName(hexadecimal(found.slice(0, 3)));
    return found[3] < 1 ? `${name} ${Math.round(found[3] * 100)}%` : name;
  };

  return { channels, colour };
})();
