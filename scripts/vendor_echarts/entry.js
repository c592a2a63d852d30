// What the report uses of ECharts, and of d3-force for the places of states on the map.
import { BarChart, GraphChart, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TooltipComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { LabelLayout } from "echarts/features";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";

use([
  BarChart,
  CanvasRenderer,
  GraphChart,
  GridComponent,
  LabelLayout,
  LegendComponent,
  LineChart,
  SVGRenderer,
  TooltipComponent,
]);

export { init };
export { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";
